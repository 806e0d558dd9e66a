/** Operator actions over the admin listener. */
import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import { bodyObject } from "./body-text.js";
import { BadQuery } from "./page.js";

/** Everything about an action but what it does. */
export interface ActionKind {
  /** After `/api/v1/`. */
  readonly path: string;
  readonly summary: string;
  /** Whether only some workers have its target: then one that has none is no failure. */
  readonly isOfOne?: true;
}

/** The actions, by their names in logs. None of them can create or change a server. */
export const ACTIONS = {
  restart_server: {
    path: "servers/:target/restart",
    summary: "End the connections of a server and start it again",
  },
  disable_tool: {
    path: "tools/:target/disable",
    summary: "Hide a tool from all hosts until the next reload",
  },
  enable_tool: { path: "tools/:target/enable", summary: "Show a disabled tool again" },
  end_session: { path: "sessions/:target/end", summary: "End a session over HTTP", isOfOne: true },
  cancel_call: { path: "calls/:target/cancel", summary: "Cancel a running call", isOfOne: true },
  revoke_approval: {
    path: "approvals/:target/revoke",
    summary: "Revoke a remembered approval",
    isOfOne: true,
  },
} as const satisfies Readonly<Record<string, ActionKind>>;

/** The same as a list. */
export const ACTION_KINDS: readonly ActionKind[] = Object.values(ACTIONS);

/** The name of an action in logs. */
export type ActionName = keyof typeof ACTIONS;

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
  `^/api/v1/(?:${ACTION_KINDS.map(({ path }) => path.replace(":target", "[^/]+")).join("|")})$`,
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
  for (const [action, { path }] of Object.entries(ACTIONS) as [ActionName, ActionKind][]) {
    app.post(`/api/v1/${path}`, async (c) => {
      const refusal = refused(c);
      if (refusal !== undefined) return refusal;
      const { worker } = await bodyObject(c.req.raw);
      if (worker !== undefined && typeof worker !== "number") throw new BadQuery('"worker" is a number');
      const error = await actions.act(action, c.req.param("target") ?? "", worker);
      return error === undefined ? c.json({ done: true }) : c.json({ error }, 409);
    });
  }
}
