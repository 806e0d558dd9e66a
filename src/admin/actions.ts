/** Operator actions over the admin listener. */
import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import { isObject, type JsonObject } from "../wire/json.js";
import { parseJson } from "../wire/json-text.js";
import { bodyText } from "./body-text.js";
import { BadQuery } from "./page.js";

/** The actions, keyed by their path after `/api/v1/`. None of them can create or change a server. */
export const ACTION_PATHS = {
  restart_server: "servers/:target/restart",
  disable_tool: "tools/:target/disable",
  enable_tool: "tools/:target/enable",
  end_session: "sessions/:target/end",
  cancel_call: "calls/:target/cancel",
  revoke_approval: "approvals/:target/revoke",
} as const;

/** The name of an action in logs. */
export type ActionName = keyof typeof ACTION_PATHS;

/** Undefined on success, otherwise the reason as a sentence. */
export type ActionOutcome = string | undefined;

/** Executes operator actions. */
export interface AdminActions {
  /** `worker`: the number of the process; default: all. Never rejects for an unknown target. */
  act(action: ActionName, target: string, worker?: number): Promise<ActionOutcome>;
}

type App = Hono<{ Bindings: HttpBindings }>;
type Request = Context<{ Bindings: HttpBindings }>;

const ACTION_PATH = new RegExp(
  `^/api/v1/(?:${Object.values(ACTION_PATHS)
    .map((path) => path.replace(":target", "[^/]+"))
    .join("|")})$`,
);

/** Whether a POST to this path is one of these actions. */
export const isActionPath = (path: string): boolean => ACTION_PATH.test(path);

/**
 * Adds the routes: `{ "done": true }`, or 409 with `error`.
 *
 * @param refused the response to an unauthorized request; undefined for an authorized one
 */
export function addActionRoutes(
  app: App,
  actions: AdminActions,
  refused: (c: Request) => Response | undefined,
): void {
  for (const [action, path] of Object.entries(ACTION_PATHS) as [ActionName, string][]) {
    app.post(`/api/v1/${path}`, async (c) => {
      const refusal = refused(c);
      if (refusal !== undefined) return refusal;
      const { worker } = bodyOf(await bodyText(c.req.raw));
      if (worker !== undefined && typeof worker !== "number") throw new BadQuery('"worker" is a number');
      const error = await actions.act(action, c.req.param("target") ?? "", worker);
      return error === undefined ? c.json({ done: true }) : c.json({ error }, 409);
    });
  }
}

function bodyOf(text: string): JsonObject {
  let body: unknown;
  try {
    body = text.trim() === "" ? {} : parseJson(text);
  } catch (cause) {
    throw new BadQuery("the body is not JSON", { cause });
  }
  if (!isObject(body)) throw new BadQuery("the body must be a JSON object");
  return body;
}
