/** The actions of features over the admin listener. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { AdminCaller, AdminRole } from "../../core/admin-page.js";
import { GatewayError } from "../../core/errors.js";
import type { AdminAction, OwnAdminAction } from "../../core/feature.js";
import { bodyObject } from "./body-text.js";
import { type AdminApp, type AdminContext, adminToken } from "./caller.js";

/** Responds to an authorized request on behalf of this process. Resolves when the response is sent. */
export type PassOn = (
  request: IncomingMessage,
  response: ServerResponse,
  caller: AdminCaller | undefined,
) => Promise<void>;

/** Actions of this process, or those that another process does. */
export type FeatureActions =
  | readonly OwnAdminAction[]
  | { readonly actions: readonly AdminAction[]; readonly passOn: PassOn };

/** An action that was tried. */
interface TriedAction {
  readonly action: AdminAction;
  readonly named: (part: string) => string;
  /** `done`, or the word of the refusal. */
  readonly outcome: string;
}

type ActedOn = (by: AdminCaller, tried: TriedAction) => void;

/** What an action needs of its caller. */
export const neededFor = ({ isForPersons }: Pick<AdminAction, "isForPersons">): AdminRole =>
  isForPersons === true ? "person" : "operator";

const isOwn = (actions: FeatureActions): actions is readonly OwnAdminAction[] => Array.isArray(actions);

/** All of them. */
export const actionsOf = (actions: FeatureActions): readonly AdminAction[] =>
  isOwn(actions) ? actions : actions.actions;

/** Whether a path below `/api/v1/` is for actions; those of one feature begin with the same words. */
export function isFeaturePath(actions: FeatureActions): (path: string) => boolean {
  const starts = [
    ...new Set(actionsOf(actions).map(({ path }) => `/api/v1/${path.slice(0, path.indexOf("/"))}/`)),
  ];
  return (path) => starts.some((start) => path.startsWith(start));
}

/**
 * Adds the routes.
 *
 * @param refused the response to an unauthorized request; undefined for an authorized one
 * @param acted called with each action that is an event, and its outcome
 */
export function addFeatureRoutes(
  app: AdminApp,
  actions: FeatureActions,
  refused: (c: AdminContext, noun: string, needed: AdminRole) => Response | undefined,
  acted: ActedOn,
): void {
  if (isOwn(actions)) for (const action of actions) add(action, (c) => done(c, action, acted));
  else for (const action of actions.actions) add(action, (c) => passed(c, actions.passOn));

  function add(action: AdminAction, serve: (c: AdminContext) => Promise<Response>): void {
    app.post(`/api/v1/${action.path}`, async (c) => refused(c, action.noun, neededFor(action)) ?? serve(c));
  }
}

async function done(c: AdminContext, action: OwnAdminAction, acted: ActedOn): Promise<Response> {
  const body = await bodyObject(c.req.raw);
  const named = (part: string): string => c.req.param(part) ?? "";
  const by = c.get("caller") ?? adminToken(undefined);
  try {
    const answer = await action.act(named, body, by);
    acted(by, { action, named, outcome: "done" });
    return c.json(answer);
  } catch (error) {
    acted(by, { action, named, outcome: error instanceof GatewayError ? error.code : "failed" });
    throw error;
  }
}

async function passed(c: AdminContext, passOn: PassOn): Promise<Response> {
  await passOn(c.env.incoming as IncomingMessage, c.env.outgoing as ServerResponse, c.get("caller"));
  return RESPONSE_ALREADY_SENT;
}
