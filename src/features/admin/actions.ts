/** Operator actions over the admin listener. */
import { type AdminCaller, BadQuery } from "../../core/admin-page.js";
import type { OperatorAction } from "../../core/feature.js";
import { bodyObject } from "./body-text.js";
import { type AdminApp, type AdminContext, adminToken } from "./caller.js";

/** The actions of the gateway itself, by their names in logs. None of them can create or change a server. */
const ACTIONS = {
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
} as const satisfies Readonly<Record<string, Omit<OperatorAction, "name">>>;

/** The same as a list. */
export const OPERATOR_ACTIONS: readonly OperatorAction[] = Object.entries(ACTIONS).map(([name, action]) => ({
  name,
  ...action,
}));

/** The name of one of them in logs. */
export type ActionName = keyof typeof ACTIONS;

/** Undefined on success, otherwise the reason as a sentence. */
export type ActionOutcome = string | undefined;

/** Executes operator actions. */
export interface AdminActions {
  /** Those of the gateway itself, then those of features. */
  readonly kinds: readonly OperatorAction[];
  /** `worker`: the number of the process; default: all. Never rejects for an unknown target. */
  act(action: OperatorAction, target: string, by: AdminCaller, worker?: number): Promise<ActionOutcome>;
}

/** Whether a POST to a path is one of these actions. */
export function isActionPath({ kinds }: AdminActions): (path: string) => boolean {
  const paths = kinds.map(({ path }) => path.replace(":target", "[^/]+"));
  const pattern = new RegExp(`^/api/v1/(?:${paths.join("|")})$`);
  return (path) => pattern.test(path);
}

/**
 * Adds the routes: `{ "done": true }`, or 409 with `error`.
 *
 * @param refused the response to an unauthorized request; undefined for an authorized one
 */
export function addActionRoutes(
  app: AdminApp,
  actions: AdminActions,
  refused: (c: AdminContext, action: OperatorAction) => Response | undefined,
): void {
  for (const action of actions.kinds) {
    app.post(`/api/v1/${action.path}`, async (c) => {
      const refusal = refused(c, action);
      if (refusal !== undefined) return refusal;
      const { worker } = await bodyObject(c.req.raw);
      if (worker !== undefined && typeof worker !== "number") throw new BadQuery('"worker" is a number');
      const by = c.get("caller") ?? adminToken(undefined);
      const error = await actions.act(action, c.req.param("target") ?? "", by, worker);
      return error === undefined ? c.json({ done: true }) : c.json({ error }, 409);
    });
  }
}
