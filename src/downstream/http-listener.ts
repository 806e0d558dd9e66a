/** How does the HTTP listener for hosts bind, admit connections, time out and drain? */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, isIPv6, type ListenOptions, type Socket } from "node:net";
import type { ListenConfig } from "../config/config.js";
import type { Admission } from "../core/cluster.js";
import { GatewayError, overloaded } from "../core/errors.js";
import type { HostRoute } from "../core/feature.js";
import type { GatewayApi, Readiness } from "../core/gateway-api.js";
import { type Logger, SILENT } from "../core/logger.js";
import type { Certificates } from "../core/owners.js";
import { type LoadShedKind, NO_PRESSURE, type Pressure, SHED_LEVELS } from "../core/pressure.js";
import { rebindingProtection } from "../http/check-request-head.js";
import { isLoopback } from "../http/loopback.js";
import { type Authentication, NO_AUTHENTICATION } from "./authenticate/authentication.js";
import { ConnectionTimeouts, connectionLimit } from "./connections.js";
import { CUT_OFF_MS, type HttpEdge } from "./edge.js";
import type { Forwarder } from "./forward-to-owner.js";
import { httpFailure, sendFailure } from "./http-errors.js";
import { httpRoutes, type SseEdge } from "./http-routes.js";
import { BodyBudget } from "./read-body.js";
import type { PublicPage } from "./server-card.js";

/** What the listener serves, and its limits. */
export interface HttpListenerOptions {
  readonly listen: ListenConfig["http"];
  readonly gateway: GatewayApi;
  readonly modern: HttpEdge;
  readonly legacy: HttpEdge;
  /** Serves `GET /sse` and `POST /messages`, the transport of 2024-11-05. Default: there are no such paths. */
  readonly sse?: SseEdge;
  /** What `/readyz` says; asked again each time. */
  readonly readiness: () => Readiness;
  /** Default: anonymous, which is refused beyond loopback unless `listen.insecure` allows it. */
  readonly authentication?: Authentication;
  /** Public pages, by path. Default: there are none. */
  readonly publicPages?: ReadonlyMap<string, PublicPage>;
  /** The paths of features. Default: there are none. */
  readonly featureRoutes?: readonly HostRoute[];
  readonly logger?: Logger;
  readonly timeouts?: Partial<HttpTimeouts>;
  /** The most connections at once; further ones are dropped. Default: what the descriptors of the process allow. */
  readonly maxConnections?: number;
  /** Default: there is none. */
  readonly pressure?: Pressure;
  /** Called for everything that is refused under load. */
  readonly onShed?: (what: LoadShedKind) => void;
  /** How many bytes the bodies of requests under way may have together. Default 256 MiB. */
  readonly bodyBudgetBytes?: number;
  /** Where there are other processes of this gateway: how requests are forwarded to them, and where they do the same. */
  readonly peers?: PeerListener;
}

/** The part of the listener that other workers or replicas use. */
export interface PeerListener {
  readonly forwarder: Forwarder;
  /** A socket of this machine, or an address. */
  readonly bind: ListenOptions;
  /** Both sides show a certificate. */
  readonly tls?: Certificates;
  /** What another process has signed; undefined where it is no forwarded request, and has been answered. */
  readonly admit: (request: IncomingMessage, response: ServerResponse) => Admission | undefined;
}

/** In milliseconds. */
interface HttpTimeouts {
  /** For the head of a request. Default 10 s. */
  readonly headersMs: number;
  /** For a whole request, body included. Default 30 s. */
  readonly requestMs: number;
  /** For a reader that takes nothing of what waits for it. Default 30 s. */
  readonly stallMs: number;
}

/** A listener that can be started and drained. */
export interface HttpListener {
  /** Binds. @throws GatewayError when that would let strangers in, or the error of the system. */
  start(): Promise<{ readonly url: string; readonly port: number; readonly peerPort?: number }>;
  /**
   * Drains and stops: accepts no more connections, ends streams, lets requests finish for `graceMs`, then closes them.
   * Before that it serves for `lingerMs` (default 0) or until `isIdle`, and closes each connection after its response, so
   * that a load balancer in front sees in time that this listener stops. The listener for other processes stays open until `left`
   * resolves: they know then that a connection to it may close.
   */
  stop(graceMs: number, lingerMs?: number, isIdle?: () => boolean, left?: Promise<void>): Promise<void>;
}

/** Makes the listener; it binds at `start`. */
export function createHttpListener(options: HttpListenerOptions): HttpListener {
  const { listen, logger = SILENT, authentication = NO_AUTHENTICATION } = options;
  const { pressure = NO_PRESSURE, onShed = () => {}, maxConnections = connectionLimit(), peers } = options;
  const connections = new Connections({ max: maxConnections, pressure, onShed, logger });
  const route = httpRoutes({
    ...options,
    authentication,
    rebindingProtection: rebindingProtection({ bind: listen.host, ...listen }),
    bodyBudget: new BodyBudget({ limit: options.bodyBudgetBytes ?? 256 * 1024 * 1024, pressure, onShed }),
    logger,
    ...(peers !== undefined && { forwarder: peers.forwarder }),
  });
  const connectionTimeouts = new ConnectionTimeouts({
    stallMs: options.timeouts?.stallMs ?? STALL_MS,
    logger,
  });
  let stopping = false;
  const { keepAliveMs } = listen;
  const server = nodeServer({ ...options.timeouts, keepAliveMs }, (request, response) => {
    response.on("timeout", connectionTimeouts.onResponseTimeout);
    if (stopping || connections.areNearLimit) response.shouldKeepAlive = false;
    if (connections.isOverLimit(request.socket) && !PROBES.has(request.url ?? "")) refuseConnection(response);
    else route(request, response);
  });
  const peerServer =
    peers &&
    nodeServer({ ...options.timeouts, keepAliveMs: 0 }, (...each) => onPeerRequest(peers, ...each), {
      maxHeaderSize: MAX_PEER_HEAD,
      ...(peers.tls !== undefined && { tls: peers.tls }),
    });
  const servers = peerServer === undefined ? [server] : [server, peerServer];
  for (const each of servers) each.on("connection", connectionTimeouts.watch);
  server.maxConnections = maxConnections;
  server.on("connection", (socket) => connections.admit(socket));
  server.on("drop", () => connections.onDropped());
  server.on("timeout", connectionTimeouts.onServerTimeout);

  return {
    async start() {
      checkExposure(listen, authentication.isRequired);
      if (listen.insecure && !authentication.isRequired && !isLoopback(listen.host)) {
        logger.warn(
          { host: listen.host },
          "insecure: every client that reaches this address may call every tool",
        );
      }
      // Of this process alone, where Node's cluster would otherwise share it among all.
      if (peerServer !== undefined) await bind(peerServer, { ...peers?.bind, exclusive: true });
      await bind(server, { host: listen.host, port: listen.port });
      // A connection that cannot be taken, for lack of descriptors say, is no reason to lose all the others.
      for (const each of servers)
        each.on("error", (error) => logger.error({ error }, "a connection was lost"));
      const { port } = server.address() as AddressInfo;
      const host = isIPv6(listen.host) ? `[${listen.host}]` : listen.host;
      const peerAddress = peerServer?.address();
      return {
        url: `http://${host}:${port}${listen.path}`,
        port,
        // A socket of this machine has none.
        ...(typeof peerAddress === "object" && peerAddress !== null && { peerPort: peerAddress.port }),
      };
    },
    async stop(graceMs, lingerMs = 0, isIdle = () => false, left = Promise.resolve()) {
      stopping = true;
      await linger(lingerMs, isIdle);
      peers?.forwarder.endStreams();
      const closed = (each: Server) => new Promise<void>((resolve) => each.close(() => resolve()));
      // A connection that falls idle now would otherwise be kept for its next request.
      const swept = [server];
      const sweep = setInterval(() => {
        for (const each of swept) each.closeIdleConnections();
        connectionTimeouts.closeUnused();
      }, 50);
      const cut = setTimeout(() => {
        for (const each of servers) each.closeAllConnections();
      }, graceMs);
      const sessionsMs = Math.max(graceMs - CUT_OFF_MS / 2, 0);
      try {
        await Promise.all([
          options.modern.close(graceMs),
          options.legacy.close(sessionsMs),
          options.sse?.close(sessionsMs),
          closed(server),
          peerServer && left,
        ]);
        if (peerServer === undefined) return;
        // Until now the other processes forwarded what was this one's, and has moved.
        swept.push(peerServer);
        await closed(peerServer);
      } finally {
        clearInterval(sweep);
        clearTimeout(cut);
        peers?.forwarder.close();
      }
    },
  };

  function onPeerRequest(
    { admit, forwarder }: PeerListener,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    response.on("timeout", connectionTimeouts.onResponseTimeout);
    const admission = admit(request, response);
    if (admission === undefined) return;
    // A new connection has proven itself by requests of its own, after which it stays open.
    if (stopping) response.shouldKeepAlive = false;
    forwarder.receive(request, admission);
    route(request, response);
  }

  function refuseConnection(response: ServerResponse): void {
    onShed("connections");
    sendFailure(response, httpFailure(overloaded("too many connections to the gateway")));
  }
}

/** @throws GatewayError `forbidden` for a listener beyond loopback without authentication. */
export function checkExposure({ host, insecure }: ListenConfig["http"], isRequired: boolean): void {
  if (isLoopback(host) || isRequired || insecure) return;
  const message = `refused to listen on ${host}: every client that reaches it could call every tool; set "auth" in the config, or --insecure`;
  throw new GatewayError("forbidden", "gateway", message);
}

const STALL_MS = 30_000;

/** The head (bytes) of a forwarded request names its principal with all claims, encoded twice. */
const MAX_PEER_HEAD = 128 * 1024;

/** Interval (ms) at which `isIdle` is checked. */
const POLL_MS = 50;

async function linger(ms: number, isIdle: () => boolean): Promise<void> {
  const until = performance.now() + ms;
  for (let left = ms; left > 0 && !isIdle(); left = until - performance.now()) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(left, POLL_MS)));
  }
}

/** Health checks are answered on connections beyond the limit too. */
const PROBES: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

function nodeServer(
  timeouts: Partial<HttpTimeouts> & { readonly keepAliveMs: number },
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  { tls, maxHeaderSize }: { readonly tls?: Certificates; readonly maxHeaderSize?: number } = {},
): Server {
  const { headersMs = 10_000, requestMs = 30_000, keepAliveMs } = timeouts;
  const settings = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    // How late Node may notice the first two.
    connectionsCheckingInterval: Math.min(1_000, headersMs, requestMs),
    ...(maxHeaderSize !== undefined && { maxHeaderSize }),
  };
  if (tls === undefined) return createServer(settings, listener);
  return createSecureServer({ ...settings, ...tls, requestCert: true, rejectUnauthorized: true }, listener);
}

function bind(server: Server, where: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

interface ConnectionSettings {
  /** The most at once. */
  readonly max: number;
  readonly pressure: Pressure;
  readonly onShed: (what: LoadShedKind) => void;
  readonly logger: Logger;
}

/** Shares of `max`: above the first, connections close after their response; above the second, new ones get 503. */
const CLOSE_AFTER_RESPONSE_SHARE = 0.8;
const REFUSE_SHARE = 0.9;
const LOG_EVERY_MS = 60_000;

/** Counts the connections of one listener, and sheds those beyond its limit. */
class Connections {
  readonly #settings: ConnectionSettings;
  #open = 0;
  readonly #overLimit = new WeakSet<Socket>();
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /** Counts a new connection, or closes it under memory pressure. */
  admit(socket: Socket): void {
    const { max, pressure, onShed } = this.#settings;
    if (pressure.level >= SHED_LEVELS.connections) {
      onShed("connections");
      socket.destroy();
      return;
    }
    this.#open += 1;
    socket.on("close", this.#onClose);
    if (this.#open <= max * REFUSE_SHARE) return;
    this.#overLimit.add(socket);
    this.#warn();
  }

  /** Node dropped a connection beyond `max`. */
  onDropped(): void {
    this.#settings.onShed("connections");
    this.#warn();
  }

  /** Whether connections should close after the response in flight. */
  get areNearLimit(): boolean {
    const { max, pressure } = this.#settings;
    return pressure.level >= SHED_LEVELS.streams || this.#open > max * CLOSE_AFTER_RESPONSE_SHARE;
  }

  /** Whether this connection gets 503 because it came beyond the limit. */
  isOverLimit(socket: Socket): boolean {
    return this.#overLimit.has(socket);
  }

  /** One listener for all sockets: each socket may keep its own for hours. */
  readonly #onClose = (): void => {
    this.#open -= 1;
  };

  #warn(): void {
    const now = performance.now();
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now;
    const { logger, max } = this.#settings;
    logger.warn({ connections: this.#open, limit: max }, "too many open connections; new ones are refused");
  }
}
