/** Sign-in actions over the admin listener: start, finish, poll, sign out. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Context, Hono } from "hono";
import { isObject, type JsonObject, stringAt } from "../wire/json.js";
import { parseJson } from "../wire/json-text.js";
import { bodyText } from "./body-text.js";
import { BadQuery } from "./pages.js";

/**
 * The sign-ins of the gateway. Results are data for JSON, without tokens. @throws GatewayError, with a message for the
 * operator
 */
export interface LoginActions {
  /** Starts one at `server` for the principal `as`. */
  begin(
    server: string,
    as: string,
    options: { readonly device: boolean; readonly acceptsAudience: boolean },
  ): Promise<unknown>;
  /** Pins the authorization server that `server` names now. */
  acceptIssuer(server: string): Promise<unknown>;
  /** The outcome of one; undefined if it has expired. */
  state(login: string): Promise<unknown>;
  /** Finishes one with the callback URL from the browser. */
  finish(login: string, url: string): Promise<unknown>;
  signOut(server: string, as: string): Promise<unknown>;
}

/** Responds to an authorized request on behalf of this process. Resolves when the response is sent. */
export type PassOn = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

type App = Hono<{ Bindings: HttpBindings }>;
type Request = Context<{ Bindings: HttpBindings }>;

/** Whether a POST to this path is one of these actions. */
export const isLoginPath = (path: string): boolean =>
  path.startsWith("/api/v1/logins/") || path.startsWith("/api/v1/sign-ins/");

/**
 * Adds the routes. The id of a login is a secret, so it is sent in bodies, never in a path.
 *
 * @param actions of this process, or a forwarder to the process that has them
 * @param refused the response to an unauthorized request; undefined for an authorized one
 */
export function addLoginRoutes(
  app: App,
  actions: LoginActions | PassOn,
  refused: (c: Request) => Response | undefined,
): void {
  type Act = (own: LoginActions, c: Request, body: JsonObject) => Promise<unknown>;
  const acting = (act: Act) => async (c: Request) => {
    const refusal = refused(c);
    if (refusal !== undefined) return refusal;
    if (typeof actions === "function") {
      await actions(c.env.incoming as IncomingMessage, c.env.outgoing as ServerResponse);
      return RESPONSE_ALREADY_SENT;
    }
    return c.json(
      ((await act(actions, c, bodyOf(await bodyText(c.req.raw)))) ?? { state: "unknown" }) as object,
    );
  };
  app.post(
    "/api/v1/logins/:server",
    acting((own, c, body) =>
      own.begin(c.req.param("server") ?? "", stringAt(body, "as") ?? ANONYMOUS, {
        device: body.device === true,
        acceptsAudience: body.acceptsAudience === true,
      }),
    ),
  );
  app.post(
    "/api/v1/logins/:server/accept-issuer",
    acting((own, c) => own.acceptIssuer(c.req.param("server") ?? "")),
  );
  app.post(
    "/api/v1/logins/:server/:id/sign-out",
    acting((own, c) => own.signOut(c.req.param("server") ?? "", c.req.param("id") ?? "")),
  );
  app.post(
    "/api/v1/sign-ins/state",
    acting((own, _, body) => own.state(textAt(body, "login"))),
  );
  app.post(
    "/api/v1/sign-ins/finish",
    acting((own, _, body) => own.finish(textAt(body, "login"), textAt(body, "url"))),
  );
}

const ANONYMOUS = "anonymous";

function bodyOf(text: string): JsonObject {
  let body: unknown;
  try {
    body = text.trim() === "" ? {} : parseJson(text);
  } catch {
    throw new BadQuery("the body is not JSON");
  }
  if (!isObject(body)) throw new BadQuery("the body must be a JSON object");
  return body;
}

function textAt(body: JsonObject, name: string): string {
  const text = stringAt(body, name);
  if (text === undefined) throw new BadQuery(`the body needs "${name}"`);
  return text;
}
