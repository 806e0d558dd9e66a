/** Which path leads where. Hono finds the route and does nothing else; bodies, checks and answers are ours. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import type { ListenConfig } from "../config/config.js";
import type { GatewayPort } from "../core/gateway-port.js";
import type { Logger } from "../core/logger.js";
import { admit, admitProbe } from "./admit.js";
import type { AllowedNames } from "./allowed-names.js";
import type { Authenticate } from "./authenticate.js";
import { allowOrigin } from "./cors.js";
import type { HttpEdge } from "./edge.js";
import { HttpRefusal, httpFailure, sendFailure } from "./http-errors.js";
import { FailedMessage, type McpEndpoint, mcpEndpoint, notAllowed } from "./mcp-endpoint.js";

/** What `/readyz` says. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

/** An edge that opens streams, as the transport of 2024-11-05 needs one. */
export type SseEdge = HttpEdge & Pick<Required<HttpEdge>, "get">;

export interface HttpRouteSettings {
  readonly listen: Pick<ListenConfig["http"], "path" | "maxBodyBytes">;
  readonly port: Pick<GatewayPort, "hasScope">;
  readonly modern: HttpEdge;
  readonly legacy: HttpEdge;
  readonly sse?: SseEdge;
  readonly ready: () => Readiness;
  readonly authenticate: Authenticate;
  readonly names: AllowedNames;
  readonly logger: Logger;
  readonly refused?: (status: number) => void;
}

type Serve = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** Serves any HTTP request; never throws, and answers whatever fails. */
export function httpRoutes(
  settings: HttpRouteSettings,
): (request: IncomingMessage, response: ServerResponse) => void {
  const { listen, names, sse } = settings;
  const behind = { ...settings, maxBodyBytes: listen.maxBodyBytes };
  const base = listen.path.replace(/\/$/, "");
  const mcp = mcpEndpoint(behind);
  const app = new Hono<{ Bindings: HttpBindings }>({ strict: false })
    .get("/healthz", ({ env }) =>
      run(
        env,
        probe(() => ALIVE),
      ),
    )
    .get("/readyz", ({ env }) => run(env, probe(settings.ready)))
    .all(base === "" ? "/" : base, ({ env }) => run(env, admitted(mcp, "")))
    .all(`${base}/:name`, ({ env, req }) => run(env, admitted(mcp, req.param("name"))))
    .notFound(({ env }) => run(env, nothingHere));
  if (sse !== undefined) {
    const opening = onlyGet(sse);
    const taking = onlyPost(sse);
    const opens = mcpEndpoint({ ...behind, modern: opening, legacy: opening });
    const takes = mcpEndpoint({ ...behind, modern: taking, legacy: taking });
    app.all("/sse", ({ env }) => run(env, admitted(opens, "")));
    app.all("/messages", ({ env }) => run(env, admitted(takes, "")));
  }
  // Hono must neither put classes of its own in the place of the global Request and Response, nor touch bodies.
  const route = getRequestListener(app.fetch, { overrideGlobalObjects: false, autoCleanupIncoming: false });
  return (request, response) => void route(request, response);

  function admitted(endpoint: McpEndpoint, scope: string): Serve {
    return (request, response) => {
      admit(request, names);
      const { origin } = request.headers;
      if (origin !== undefined) allowOrigin(response, origin);
      return endpoint(request, response, scope);
    };
  }

  function probe(ask: () => Readiness): Serve {
    return (request, response) => {
      admitProbe(request, names);
      const readiness = ask();
      response.writeHead(readiness.ready ? 200 : 503, { "content-type": "application/json" });
      response.end(JSON.stringify(readiness));
    };
  }

  function run({ incoming, outgoing }: HttpBindings, serve: Serve): Response {
    void settle(incoming as IncomingMessage, outgoing as ServerResponse, serve);
    return RESPONSE_ALREADY_SENT;
  }

  async function settle(request: IncomingMessage, response: ServerResponse, serve: Serve): Promise<void> {
    try {
      await serve(request, response);
    } catch (error) {
      const { cause, id } = error instanceof FailedMessage ? error : { cause: error, id: undefined };
      const failure = httpFailure(cause);
      if (failure.status === 500)
        settings.logger.error({ error: cause, method: request.method }, "a request failed");
      settings.refused?.(failure.status);
      sendFailure(response, failure, id);
    }
  }
}

const ALIVE: Readiness = { ready: true, reasons: [] };

const nothingHere: Serve = () => {
  throw new HttpRefusal(404, "unknown_target", "there is nothing at this path");
};

const onlyGet = (edge: SseEdge): HttpEdge => ({
  post: () => {
    throw notAllowed("GET, OPTIONS");
  },
  get: (exchange) => edge.get(exchange),
  close: () => edge.close(),
});

const onlyPost = (edge: SseEdge): HttpEdge => ({
  post: (post) => edge.post(post),
  close: () => edge.close(),
});
