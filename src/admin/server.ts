/** The admin listener: health, metrics, status as JSON, and the console page. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { admitOperator } from "../core/admit.js";
import { ERRORS, GatewayError } from "../core/errors.js";
import { frontDoor, isLoopback } from "../core/front-door.js";
import type { Logger } from "../core/logger.js";
import { guard } from "./guard.js";
import { BadQuery } from "./pages.js";
import { type Answer, json, type RouteSettings, routesOf } from "./routes.js";

export interface AdminSettings extends RouteSettings {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** What whoever asks for more than health must send; or `sha256:` and its hash. Default: nothing. */
  readonly token?: string;
  /** Further names the listener may be called by. */
  readonly allowedHosts?: readonly string[];
  readonly logger: Logger;
  /** A socket to listen on instead, of this process alone; then `host` and `port` say nothing. */
  readonly socket?: string;
}

export interface Admin {
  /**
   * @throws GatewayError when that would let strangers in, or an Error as `server.listen` gives it, such as
   * EADDRINUSE.
   */
  start(): Promise<{ readonly url: string; readonly port: number }>;
  /** Ends every connection; resolves when the port is free. */
  stop(): Promise<void>;
}

/** Admin traffic is small and rare; whoever needs longer than this is up to something. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const CONNECTIONS = 200;

const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

export function createAdmin(settings: AdminSettings): Admin {
  const answer = answers(settings);
  const server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS },
    (request, response) => void answer(request).then((made) => send(response, made)),
  );
  server.maxConnections = CONNECTIONS;

  return {
    start: () =>
      new Promise((resolve, reject) => {
        if (!isLoopback(settings.host) && settings.token === undefined) {
          const message = `refused to listen on ${settings.host}: anybody who reaches it could look at everything; "listen.admin.token" in the config says who may`;
          throw new GatewayError("forbidden", "gateway", message);
        }
        const { host, port, socket } = settings;
        server.once("error", reject);
        server.listen(socket === undefined ? { host, port } : { path: socket, exclusive: true }, () => {
          server.off("error", reject);
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

/** Answers every request; never rejects. */
function answers(settings: AdminSettings): (request: IncomingMessage) => Promise<Answer> {
  const mayLook = guard(settings.token);
  const door = frontDoor({
    bind: settings.host,
    allowedHosts: settings.allowedHosts ?? [],
    allowedOrigins: [],
  });
  const routes = routesOf(settings);

  return async (request) => {
    const [path = "", query = ""] = (request.url ?? "").split(/\?(.*)/s, 2);
    // A slash at the end makes no difference.
    const route = routes.get(path.replace(/(?<=.)\/$/, ""));
    try {
      admitOperator(request, door);
      if (route?.open !== true && !mayLook(request.headers.authorization)) return STRANGER;
      if (request.method !== "GET" && request.method !== "HEAD") return NOT_READING;
      return (await route?.answer(new URLSearchParams(query))) ?? NOTHING;
    } catch (error) {
      if (error instanceof BadQuery) return json({ error: error.message }, 400);
      if (error instanceof GatewayError) return json({ error: error.message }, ERRORS[error.code].http);
      settings.logger.error({ path: path.slice(0, 200), error }, "an admin page failed");
      return json({ error: "this page failed; the gateway's log says why" }, 500);
    }
  };
}

const NOTHING = json({ error: "there is nothing at this path" }, 404);
const NOT_READING: Answer = {
  ...json({ error: "only GET is served here" }, 405),
  headers: { allow: "GET, HEAD" },
};
const STRANGER: Answer = {
  ...json({ error: "this needs the token of listen.admin: Authorization: Bearer …" }, 401),
  headers: { "www-authenticate": 'Bearer realm="cardea admin"' },
};

function send(response: ServerResponse, { status, type, body, headers = {} }: Answer): void {
  response.writeHead(status, { ...SECURITY_HEADERS, ...headers, "content-type": type }).end(body);
}
