/** Where does the admin listener bind, and which limits does it have? */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { GatewayError } from "../core/errors.js";
import type { Readiness } from "../core/gateway-api.js";
import type { Logger } from "../core/logger.js";
import { isLoopback } from "../http/loopback.js";
import type { AdminActions } from "./actions.js";
import type { CallFeed } from "./call-stream.js";
import type { LoginActions, PassOn } from "./login-actions.js";
import type { Pages } from "./pages.js";

/** Where the listener binds, who may use it, and what it shows. */
export interface AdminListenerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** The bearer token for everything but health, or `sha256:` and its hash. Default: none. */
  readonly token?: string;
  /** Further values of `Host` that are accepted. */
  readonly allowedHosts?: readonly string[];
  readonly logger: Logger;
  /** Takes secrets out of the pages. Default: the identity function. */
  readonly redact?: (text: string) => string;
  /** In the text format of Prometheus, with exemplars. */
  readonly metrics: { text(): Promise<string> };
  readonly readiness: () => Readiness | Promise<Readiness>;
  readonly pages: Pages;
  /** Of this program, for the OpenAPI document. Default: 0. */
  readonly version?: string;
  /** Lets commands of the user whose gateway this is use the listener, beside `token`. Default: none. */
  readonly ownerToken?: string;
  /**
   * Calls a tool for `POST /api/v1/calls`, and resolves to the JSON of its reply; `signal` aborts when the client
   * disconnects. Default: no calls are made. @throws BadQuery
   */
  readonly call?: (body: string, signal: AbortSignal) => Promise<string>;
  /** The calls for `GET /api/v1/calls/stream`. Default: there is no such route. */
  readonly callFeed?: CallFeed;
  /** What operators do to the running gateway. Default: nothing. */
  readonly actions?: AdminActions;
  /** Serves one message of the console's own MCP client, which was authorized. Default: there is no such client. */
  readonly mcp?: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** What operators do about signing in, here or in another process. Default: nothing. */
  readonly logins?: LoginActions | PassOn;
  /** A Unix socket or named pipe to listen on, in place of `host` and `port`. */
  readonly socket?: string;
}

/** A listener that can be bound and closed. */
export interface AdminListener {
  /**
   * @throws GatewayError when it would be reachable from other machines without a token, or the Error of
   * `server.listen`, such as EADDRINUSE.
   */
  start(): Promise<{ readonly url: string; readonly port: number }>;
  /** Closes every connection; resolves when the port is free. */
  stop(): Promise<void>;
}

/** Limits of admin traffic, which is small and rare. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const CONNECTIONS = 200;

/** The listener, not yet bound. */
export function createAdminListener(settings: AdminListenerOptions): AdminListener {
  const server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS },
    lazyRequests(settings),
  );
  server.maxConnections = CONNECTIONS;

  return {
    start: () =>
      new Promise((resolve, reject) => {
        if (!isLoopback(settings.host) && settings.token === undefined) {
          const message = `refused to listen on ${settings.host}: it would serve every client that reaches it; set "listen.admin.token" in the config`;
          throw new GatewayError("forbidden", "gateway", message);
        }
        const { host, port, socket } = settings;
        server.once("error", reject);
        server.listen(socket === undefined ? { host, port } : { path: socket, exclusive: true }, () => {
          server.off("error", reject);
          // A failed accept, such as EMFILE, must not end the process.
          server.on("error", (error) =>
            settings.logger.error({ error }, "an admin connection could not be accepted"),
          );
          const bound = server.address() as AddressInfo | string;
          if (typeof bound === "string") resolve({ url: bound, port: 0 });
          else
            resolve({
              url: `http://${host.includes(":") ? `[${host}]` : host}:${bound.port}`,
              port: bound.port,
            });
        });
      }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Loads the routes, and Hono with them, at the first request: many gateways are never asked anything here. */
function lazyRequests(
  settings: AdminListenerOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  let loaded: Promise<(request: IncomingMessage, response: ServerResponse) => Promise<void>> | undefined;
  return (request, response) => {
    loaded ??= import("./app.js").then(({ adminRequests }) => adminRequests(settings));
    loaded
      .then((serve) => serve(request, response))
      .catch((error: unknown) => {
        settings.logger.error({ error }, "an admin request failed");
        response.writeHead(500).end();
      });
  };
}
