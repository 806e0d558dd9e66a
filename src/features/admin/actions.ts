/** Operator actions over the admin listener. */
import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import { BadQuery } from "../../core/admin-page.js";
import type { OperatorAction } from "../../core/feature.js";
import type { ClientAddress } from "../../http/client-address.js";
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
import { bodyObject } from "./body-text.js";

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

/** Who acts. */
export interface Operator {
  /** The id in the audit log. */
  readonly principal: string;
  /** Where the request came from; absent where the connection has no address. */
  readonly address?: string;
}

/** The principal of all who have a token of the listener. */
const ADMIN_TOKEN = "admin-token";

/** Executes operator actions. */
export interface AdminActions {
  /** Those of the gateway itself, then those of features. */
  readonly kinds: readonly OperatorAction[];
  /** `worker`: the number of the process; default: all. Never rejects for an unknown target. */
  act(action: OperatorAction, target: string, by: Operator, worker?: number): Promise<ActionOutcome>;
}

type App = Hono<{ Bindings: HttpBindings }>;
type Request = Context<{ Bindings: HttpBindings }>;

/** Whether a POST to a path is one of these actions. */
export function isActionPath({ kinds }: AdminActions): (path: string) => boolean {
  const paths = kinds.map(({ path }) => path.replace(":target", "[^/]+"));
  const pattern = new RegExp(`^/api/v1/(?:${paths.join("|")})$`);
  return (path) => pattern.test(path);
}

/** How requests for actions are checked. */
interface ActionRequests {
  /** The response to an unauthorized request; undefined for an authorized one. */
  readonly refused: (c: Request) => Response | undefined;
  /** Where a request comes from. */
  readonly addressOf: ClientAddress;
  /** Whether only a process of this gateway can connect, which says in the body for whom it acts. */
  readonly isInternal: boolean;
}

/** Adds the routes: `{ "done": true }`, or 409 with `error`. */
export function addActionRoutes(
  app: App,
  actions: AdminActions,
  { refused, addressOf, isInternal }: ActionRequests,
): void {
  for (const action of actions.kinds) {
    app.post(`/api/v1/${action.path}`, async (c) => {
      const refusal = refused(c);
      if (refusal !== undefined) return refusal;
      const { worker, by } = await bodyObject(c.req.raw);
      if (worker !== undefined && typeof worker !== "number") throw new BadQuery('"worker" is a number');
      const operator = operatorOf(isInternal && isObject(by) ? by : {}, addressOf(c.env.incoming));
      const error = await actions.act(action, c.req.param("target") ?? "", operator, worker);
      return error === undefined ? c.json({ done: true }) : c.json({ error }, 409);
    });
  }
}

/** Who acts by a request. */
export function operatorOf(by: JsonObject, from: string | undefined): Operator {
  const address = stringAt(by, "address") ?? from;
  return { principal: stringAt(by, "principal") ?? ADMIN_TOKEN, ...(address !== undefined && { address }) };
}
