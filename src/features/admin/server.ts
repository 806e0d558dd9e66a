/** Binds the admin listener and sets its limits. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AddedToPages, AdminCaller, AdminPage } from "../../core/admin-page.js";
import { GatewayError } from "../../core/errors.js";
import type { Readiness } from "../../core/gateway-api.js";
import type { EmitEvent } from "../../core/gateway-events.js";
import type { Logger } from "../../core/logger.js";
import type { ClientAddress } from "../../http/client-address.js";
import { isLoopback } from "../../http/loopback.js";
import type { AccessLists } from "./access-lists.js";
import type { AdminActions } from "./actions.js";
import type { CallFeed } from "./call-stream.js";
import type { FeatureActions, PassOn } from "./feature-actions.js";
import type { Persons } from "./persons.js";

/** Options of the listener. */
export interface AdminListenerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** The bearer token for everything except health, or `sha256:` and its hash. Default: none. */
  readonly token?: string;
  /** Persons who may use the listener too, with their tokens. Default: none. */
  readonly access?: AccessLists;
  /** The persons, for `access`, or for the process that asks over the socket. Default: none is known. */
  readonly persons?: Persons;
  /** Further accepted values of `Host`. */
  readonly allowedHosts?: readonly string[];
  readonly logger: Logger;
  /** Redacts secrets in the pages. Default: the identity function. */
  readonly redact?: (text: string) => string;
  /** In the Prometheus text format, with exemplars. */
  readonly metrics: { text(): Promise<string> };
  readonly readiness: () => Readiness | Promise<Readiness>;
  /** Loads them, at the first request. */
  readonly pages: () => Promise<readonly AdminPage[]>;
  /** The version of this program, for the OpenAPI document. Default: 0. */
  readonly version?: string;
  /** What features add to pages, for the OpenAPI document. Default: nothing. */
  readonly added?: AddedToPages;
  /** Lets commands of the gateway's own user use the listener, in addition to `token`. Default: none. */
  readonly ownerToken?: string;
  /**
   * Calls a tool for `POST /api/v1/calls`, and resolves to the JSON of its reply; `signal` aborts when the client
   * disconnects. Default: no calls are made. @throws BadQuery
   */
  readonly call?: (body: string, signal: AbortSignal, caller: AdminCaller | undefined) => Promise<string>;
  /** The calls for `GET /api/v1/calls/stream`. Default: no such route. */
  readonly callFeed?: CallFeed;
  /** Operator actions. Default: none. */
  readonly actions?: AdminActions;
  /** Serves an authorized message of the console's own MCP client. Default: no such client. */
  readonly mcp?: PassOn;
  /** The actions of features, in this or another process. Default: none. */
  readonly featureActions?: FeatureActions;
  /** Tells the features of actions. Default: there are none. */
  readonly emit?: EmitEvent | undefined;
  /** Where a request comes from. Default: the address of its connection. */
  readonly addressOf?: ClientAddress;
  /** A Unix socket or named pipe of this gateway's processes to listen on, instead of `host` and `port`. */
  readonly socket?: string;
}

/** A listener that can be bound and closed. */
export interface AdminListener {
  /**
   * @throws GatewayError if it would be reachable from other machines without a token, or the Error of `server.listen`,
   * e.g. EADDRINUSE.
   */
  start(): Promise<{ readonly url: string; readonly port: number }>;
  /** Closes every connection; resolves when the port is free. */
  stop(): Promise<void>;
}

/** Limits of admin traffic, which is small and rare. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const CONNECTIONS = 200;

/** The unbound listener. */
export function createAdminListener(settings: AdminListenerOptions): AdminListener {
  const server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS },
    lazyRequests(settings),
  );
  server.maxConnections = CONNECTIONS;

  return {
    start: () =>
      new Promise((resolve, reject) => {
        const isOpen = settings.token === undefined && settings.access === undefined;
        if (!isLoopback(settings.host) && isOpen) {
          const message = `refused to listen on ${settings.host}: it would serve every client that reaches it; set "listen.admin.token" or "listen.admin.access" in the config`;
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

/** Loads the routes, and Hono with them, at the first request: many gateways receive none here. */
function lazyRequests(
  settings: AdminListenerOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  let loaded: Promise<(request: IncomingMessage, response: ServerResponse) => Promise<void>> | undefined;
  return (request, response) => {
    loaded ??= Promise.all([import("./app.js"), settings.pages()]).then(([{ adminRequests }, pages]) =>
      adminRequests(settings, pages),
    );
    loaded
      .then((serve) => serve(request, response))
      .catch((error: unknown) => {
        settings.logger.error({ error }, "an admin request failed");
        response.writeHead(500).end();
      });
  };
}
