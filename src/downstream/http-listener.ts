/** How does the HTTP listener for hosts bind, admit connections, time out and drain? */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, isIPv6, type ListenOptions, type Socket } from "node:net";
import type { ListenConfig } from "../config/config.js";
import { GatewayError, overloaded } from "../core/errors.js";
import type { HostRoute } from "../core/feature.js";
import type { GatewayApi, Readiness } from "../core/gateway-api.js";
import { type Logger, SILENT } from "../core/logger.js";
import type { Certificates } from "../core/owners.js";
import { type LoadShedKind, NO_PRESSURE, type Pressure } from "../core/pressure.js";
import type { AcceptedConnections } from "../core/process-member.js";
import type { Admission } from "../core/replicas.js";
import { rebindingProtection } from "../http/check-request-head.js";
import { isLoopback } from "../http/loopback.js";
import { type Authentication, NO_AUTHENTICATION } from "./authenticate/authentication.js";
import { Connections } from "./connection-count.js";
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
  /** Connections that another process accepts at the address of `listen`. Default: this listener accepts them. */
  readonly accepted?: AcceptedConnections | undefined;
}

/** The part of the listener that other processes of this gateway use. */
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
export const createHttpListener = (options: HttpListenerOptions): HttpListener => new HostListener(options);

class HostListener implements HttpListener {
  readonly #options: HttpListenerOptions;
  readonly #logger: Logger;
  readonly #authentication: Authentication;
  readonly #connections: Connections;
  readonly #timeouts: ConnectionTimeouts;
  readonly #route: ReturnType<typeof httpRoutes>;
  readonly #server: Server;
  /** For other processes of this gateway. */
  readonly #peerServer: Server | undefined;
  /** How many connections are open that another process has accepted. */
  #taken = 0;
  #stopTaking: () => void = () => {};
  #onTakenClosed: () => void = () => {};
  #isStopping = false;

  constructor(options: HttpListenerOptions) {
    this.#options = options;
    const { listen, logger = SILENT, authentication = NO_AUTHENTICATION, peers } = options;
    const { pressure = NO_PRESSURE, onShed = () => {}, maxConnections = connectionLimit() } = options;
    this.#logger = logger;
    this.#authentication = authentication;
    this.#connections = new Connections({ max: maxConnections, pressure, onShed, logger });
    this.#route = httpRoutes({
      ...options,
      authentication,
      rebindingProtection: rebindingProtection({ bind: listen.host, ...listen }),
      bodyBudget: new BodyBudget({ limit: options.bodyBudgetBytes ?? 256 * 1024 * 1024, pressure, onShed }),
      logger,
      ...(peers !== undefined && { forwarder: peers.forwarder }),
    });
    this.#timeouts = new ConnectionTimeouts({ stallMs: options.timeouts?.stallMs ?? STALL_MS, logger });
    const { keepAliveMs } = listen;
    this.#server = nodeServer({ ...options.timeouts, keepAliveMs }, (...each) => this.#onRequest(...each));
    this.#peerServer =
      peers &&
      nodeServer({ ...options.timeouts, keepAliveMs: 0 }, (...each) => this.#onPeerRequest(peers, ...each), {
        maxHeaderSize: MAX_PEER_HEAD,
        ...(peers.tls !== undefined && { tls: peers.tls }),
      });
    for (const each of this.#servers) each.on("connection", this.#timeouts.watch);
    this.#server.maxConnections = maxConnections;
    this.#server.on("connection", (socket) => this.#connections.admit(socket));
    this.#server.on("drop", () => this.#connections.onDropped());
    this.#server.on("timeout", this.#timeouts.onServerTimeout);
  }

  async start(): Promise<{ readonly url: string; readonly port: number; readonly peerPort?: number }> {
    const { listen, peers, accepted } = this.#options;
    const { isRequired } = this.#authentication;
    checkExposure(listen, isRequired);
    if (listen.insecure && !isRequired && !isLoopback(listen.host)) {
      const sentence = "insecure: every client that reaches this address may call every tool";
      this.#logger.warn({ host: listen.host }, sentence);
    }
    // Of this process alone, where Node's cluster would otherwise share it among all.
    if (this.#peerServer !== undefined) await bind(this.#peerServer, { ...peers?.bind, exclusive: true });
    const own = { host: listen.host, port: listen.port };
    await bind(this.#server, accepted === undefined ? own : { ...accepted.bind, exclusive: true });
    if (accepted !== undefined) this.#stopTaking = accepted.onConnection(this.#take);
    // A connection that cannot be taken, for lack of descriptors say, is no reason to lose all the others.
    for (const each of this.#servers)
      each.on("error", (error) => this.#logger.error({ error }, "a connection was lost"));
    const port = accepted?.port ?? (this.#server.address() as AddressInfo).port;
    const host = isIPv6(listen.host) ? `[${listen.host}]` : listen.host;
    const peerAddress = this.#peerServer?.address();
    return {
      url: `http://${host}:${port}${listen.path}`,
      port,
      // A socket of this machine has none.
      ...(typeof peerAddress === "object" && peerAddress !== null && { peerPort: peerAddress.port }),
    };
  }

  async stop(
    graceMs: number,
    lingerMs = 0,
    isIdle = () => false,
    left: Promise<void> = Promise.resolve(),
  ): Promise<void> {
    const { peers } = this.#options;
    this.#isStopping = true;
    await linger(lingerMs, isIdle);
    peers?.forwarder.endStreams();
    // A connection that falls idle now would otherwise be kept for its next request.
    const swept = [this.#server];
    const sweep = setInterval(() => {
      for (const each of swept) each.closeIdleConnections();
      this.#timeouts.closeUnused();
    }, 50);
    const cut = setTimeout(() => {
      for (const each of this.#servers) each.closeAllConnections();
    }, graceMs);
    try {
      await this.#closeHosts(graceMs, left);
      if (this.#peerServer === undefined) return;
      // Until now the other processes forwarded what was this one's, and has moved.
      swept.push(this.#peerServer);
      await closed(this.#peerServer);
    } finally {
      clearInterval(sweep);
      clearTimeout(cut);
      peers?.forwarder.close();
    }
  }

  get #servers(): readonly Server[] {
    return this.#peerServer === undefined ? [this.#server] : [this.#server, this.#peerServer];
  }

  async #closeHosts(graceMs: number, left: Promise<void>): Promise<void> {
    const { modern, legacy, sse } = this.#options;
    const sessionsMs = Math.max(graceMs - CUT_OFF_MS / 2, 0);
    await Promise.all([
      modern.close(graceMs),
      legacy.close(sessionsMs),
      sse?.close(sessionsMs),
      closed(this.#server),
      this.#allTakenClosed(),
      this.#peerServer && left,
    ]);
  }

  /** As Node's server does with those that it accepts itself. */
  readonly #take = (connection: Socket): void => {
    if (this.#connections.areFull) {
      connection.destroy();
      this.#connections.onDropped();
      return;
    }
    connection.allowHalfOpen = true;
    this.#taken += 1;
    connection.on("close", this.#onTakenClose);
    this.#server.emit("connection", connection);
  };

  /** One listener for all connections: each may keep its own for hours. */
  readonly #onTakenClose = (): void => {
    this.#taken -= 1;
    if (this.#taken === 0) this.#onTakenClosed();
  };

  #allTakenClosed(): Promise<void> {
    this.#stopTaking();
    return new Promise((resolve) => {
      this.#onTakenClosed = resolve;
      if (this.#taken === 0) resolve();
    });
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    response.on("timeout", this.#timeouts.onResponseTimeout);
    const connections = this.#connections;
    if (this.#isStopping || connections.areNearLimit) response.shouldKeepAlive = false;
    if (connections.isOverLimit(request.socket) && !PROBES.has(request.url ?? ""))
      this.#refuseConnection(response);
    else this.#route(request, response);
  }

  #onPeerRequest(
    { admit, forwarder }: PeerListener,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    response.on("timeout", this.#timeouts.onResponseTimeout);
    const admission = admit(request, response);
    if (admission === undefined) return;
    // A new connection has proven itself by requests of its own, after which it stays open.
    if (this.#isStopping) response.shouldKeepAlive = false;
    forwarder.receive(request, admission);
    this.#route(request, response);
  }

  #refuseConnection(response: ServerResponse): void {
    this.#options.onShed?.("connections");
    sendFailure(response, httpFailure(overloaded("too many connections to the gateway")));
  }
}

/** Resolves when the last connection has closed. */
const closed = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));

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
