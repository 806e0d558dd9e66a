/** Which route has the path of a request? Hono finds it and does nothing else; bodies, checks and answers are ours. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import type { HttpRoute, RouteRequest } from "./http-routes.js";

/** Serves a request by a handler, and answers whatever it throws. */
type Dispatch = (
  request: IncomingMessage,
  response: ServerResponse,
  serve: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
) => void;

/** Finds the route of each request in `table`, and hands it to `dispatch` with the route's handler. */
export function routeByPath(table: readonly HttpRoute[], dispatch: Dispatch): RouteRequest {
  const app = new Hono<{ Bindings: HttpBindings }>({ strict: false });
  for (const { path, handle } of table) {
    app.all(path, ({ env, req }) => {
      dispatch(env.incoming as IncomingMessage, env.outgoing as ServerResponse, (request, response) =>
        handle(request, response, req.param("name") ?? ""),
      );
      return RESPONSE_ALREADY_SENT;
    });
  }
  const find = app.fetch;
  // Hono must neither put classes of its own in place of the global Request and Response, nor touch bodies.
  // `hostname`: of requests without a Host, which are checked by the handlers.
  return getRequestListener(answer, {
    overrideGlobalObjects: false,
    autoCleanupIncoming: false,
    hostname: "localhost",
  });

  /** To HEAD, Hono makes an answer of its own out of that to GET, which would be a second one here. */
  function answer(...asked: Parameters<typeof find>): Response | Promise<Response> {
    const answered = find(...asked);
    return asked[0].method === "HEAD"
      ? Promise.resolve(answered).then(() => RESPONSE_ALREADY_SENT)
      : answered;
  }
}
