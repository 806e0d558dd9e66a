/**
 * The HTTP side that faces hosts: every check that needs no knowledge of an era, then the era's edge. Hono finds
 * the route and does nothing else; bodies, checks and answers are Node's own and ours.
 */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, isIPv6, type Socket } from "node:net";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import type { ListenConfig } from "../config/config.js";
import { GatewayError } from "../core/errors.js";
import type { GatewayPort } from "../core/gateway-port.js";
import { type Logger, SILENT } from "../core/logger.js";
import { admit, admitProbe } from "./admit.js";
import { allowedNames, isLoopback } from "./allowed-names.js";
import { type Authenticate, everybodyIsAnonymous } from "./authenticate.js";
import { allowOrigin } from "./cors.js";
import type { HttpEdge } from "./edge.js";
import { HttpRefusal, httpFailure, sendFailure } from "./http-errors.js";
import { FailedMessage, mcpEndpoint } from "./mcp-endpoint.js";

export interface HttpListenerOptions {
  readonly listen: ListenConfig["http"];
  readonly port: GatewayPort;
  readonly modern: HttpEdge;
  readonly legacy: HttpEdge;
  /** What `/readyz` says; asked anew each time. */
  readonly ready: () => Readiness;
  /** Default: everybody is anonymous, which is refused beyond loopback. */
  readonly authenticate?: Authenticate;
  /** Binds beyond loopback although nobody is authenticated. Default false. */
  readonly insecure?: boolean;
  readonly logger?: Logger;
  /** Told of each request that was refused before it reached an edge, with its HTTP status. */
  readonly refused?: (status: number) => void;
  readonly timeouts?: Partial<HttpTimeouts>;
  /** The most connections at once; further ones are dropped. Default: no limit. */
  readonly maxConnections?: number;
}

export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

/** In milliseconds. */
export interface HttpTimeouts {
  /** For the head of a request. Default 10 s. */
  readonly headersMs: number;
  /** For a whole request, body included. Default 30 s. */
  readonly requestMs: number;
  /** For an idle connection. Default 5 s; behind a load balancer more than it keeps its own open. */
  readonly keepAliveMs: number;
  /** For a reader that takes nothing of what waits for it. Default 30 s. */
  readonly stallMs: number;
}

export interface HttpListener {
  /** Binds. @throws GatewayError when that would let strangers in, or the error of the system. */
  start(): Promise<{ readonly url: string; readonly port: number }>;
  /** Takes no more connections, ends what streams, lets requests finish for `graceMs`, then cuts them off. */
  stop(graceMs: number): Promise<void>;
}

export function createHttpListener(options: HttpListenerOptions): HttpListener {
  const { listen, logger = SILENT } = options;
  const names = allowedNames({ bind: listen.host, ...listen });
  const authenticate = options.authenticate ?? everybodyIsAnonymous;
  const endpoint = mcpEndpoint({ ...options, authenticate, maxBodyBytes: listen.maxBodyBytes });
  // Hono must neither put classes of its own in the place of the global Request and Response, nor touch bodies.
  const route = getRequestListener(routes().fetch, {
    overrideGlobalObjects: false,
    autoCleanupIncoming: false,
  });
  const server = nodeServer(options, (request, response) => void route(request, response));
  let stopping = false;

  return {
    async start() {
      if (!isLoopback(listen.host) && options.authenticate === undefined && options.insecure !== true) {
        throw new GatewayError(
          "forbidden",
          "gateway",
          `refused to listen on ${listen.host}: anybody who reaches it could call every tool, because no authentication is configured`,
        );
      }
      const port = await bind(server, listen);
      return {
        url: `http://${isIPv6(listen.host) ? `[${listen.host}]` : listen.host}:${port}${listen.path}`,
        port,
      };
    },
    async stop(graceMs) {
      stopping = true;
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      // A connection that falls idle now would otherwise be kept for its next request.
      const sweep = setInterval(() => server.closeIdleConnections(), 50);
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      await Promise.all([options.modern.close(), options.legacy.close(), closed]);
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };

  function routes(): Hono<{ Bindings: HttpBindings }> {
    const mcp =
      (scope: string): Serve =>
      (request, response) => {
        admit(request, names);
        const { origin } = request.headers;
        if (origin !== undefined) allowOrigin(response, origin);
        return endpoint(request, response, scope);
      };
    const probe =
      (ask: () => Readiness): Serve =>
      (request, response) => {
        admitProbe(request, names);
        const readiness = ask();
        response.writeHead(readiness.ready ? 200 : 503, { "content-type": "application/json" });
        response.end(JSON.stringify(readiness));
      };
    const base = listen.path.replace(/\/$/, "");
    return new Hono<{ Bindings: HttpBindings }>({ strict: false })
      .get("/healthz", ({ env }) =>
        run(
          env,
          probe(() => ALIVE),
        ),
      )
      .get("/readyz", ({ env }) => run(env, probe(options.ready)))
      .all(base === "" ? "/" : base, ({ env }) => run(env, mcp("")))
      .all(`${base}/:name`, ({ env, req }) => run(env, mcp(req.param("name"))))
      .notFound(({ env }) => run(env, nothingHere));
  }

  function run({ incoming, outgoing }: HttpBindings, serve: Serve): Response {
    const request = incoming as IncomingMessage;
    const response = outgoing as ServerResponse;
    // A connection may be quiet for as long as a call takes; only a reader that leaves what is there is cut off.
    response.on("timeout", cutStalled);
    if (stopping) response.shouldKeepAlive = false;
    void settle(request, response, serve);
    return RESPONSE_ALREADY_SENT;
  }

  /** Called when nothing moved on a connection for `stallMs`. */
  function cutStalled(socket: Socket): void {
    if (socket.writableLength === 0) return;
    logger.warn({ bytes: socket.writableLength }, "a connection was closed: its reader takes nothing");
    socket.destroy();
  }

  async function settle(request: IncomingMessage, response: ServerResponse, serve: Serve): Promise<void> {
    try {
      await serve(request, response);
    } catch (error) {
      const { cause, id } = error instanceof FailedMessage ? error : { cause: error, id: undefined };
      const failure = httpFailure(cause);
      if (failure.status === 500) logger.error({ error: cause, method: request.method }, "a request failed");
      options.refused?.(failure.status);
      sendFailure(response, failure, id);
    }
  }
}

type Serve = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

const ALIVE: Readiness = { ready: true, reasons: [] };

const nothingHere: Serve = () => {
  throw new HttpRefusal(404, "unknown_target", "there is nothing at this path");
};

function nodeServer(
  { timeouts = {}, maxConnections }: HttpListenerOptions,
  listener: RequestListener,
): Server {
  const { headersMs = 10_000, requestMs = 30_000, keepAliveMs = 5_000, stallMs = 30_000 } = timeouts;
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: keepAliveMs,
      // How late Node may notice the first two.
      connectionsCheckingInterval: Math.min(1_000, headersMs, requestMs),
    },
    listener,
  );
  server.timeout = stallMs;
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  return server;
}

function bind(server: Server, { host, port }: ListenConfig["http"]): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
