/** Where the target of a call leads in the view of the caller, and which targets rules hide from it. */
import type { Catalog } from "../catalog/catalog.js";
import type { Call, Middleware, Route } from "../core/call.js";
import type { Client } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import { TASK_METHODS, type Target, targetOf } from "../core/methods.js";
import { stringAt } from "../wire/json.js";
import { namingMembers } from "./method-names.js";
import { hasNoTarget, MethodRoutes } from "./method-routes.js";
import type { Tasks } from "./tasks.js";

/**
 * Sets `call.route`. An unknown target is no failure here: the call continues without a route, so that log
 * and metrics record it, and the router refuses it.
 *
 * A task method gets the route of the tool whose call created the task, so that the rules of that tool apply
 * to its results.
 */
export function locate(
  catalog: Pick<Catalog, "view" | "prepare" | "heldRoute">,
  tasks: Pick<Tasks, "find">,
  methods: Pick<MethodRoutes, "find">,
): Middleware {
  const find = (call: Call): Route | undefined => {
    const target = targetOf(call.method, call.params);
    if (target !== undefined) return catalog.view(call.client).find(target.kind, target.name);
    if (!hasNoTarget(call.method)) return undefined;
    const found = methods.find(call);
    return found instanceof GatewayError ? undefined : found;
  };
  const ofHeld = ({ client }: Call, targets: readonly Target[]): Route | undefined => {
    for (const { kind, name } of targets) {
      const held = catalog.heldRoute(client, kind, name);
      if (held !== undefined) return held;
    }
    return undefined;
  };
  const ofTask = ({ client, params }: Call): Route | undefined => {
    const task = tasks.find(client, stringAt(params, "taskId") ?? "");
    return task && catalog.view(client).findOnServer("tools", task.server, task.tool);
  };
  return (next) =>
    function locate(call) {
      if (TASK_METHODS.has(call.method)) {
        const route = ofTask(call);
        return next(route === undefined ? call : { ...call, route });
      }
      const route = find(call);
      if (route !== undefined) return next({ ...call, route });
      const targets = targetsOf(call);
      if (targets.length === 0 && !hasNoTarget(call.method)) return next(call);
      // The server may be starting, in backoff, or not yet loaded for clients of this kind.
      return catalog.prepare(call.client, targets, call.signal).then(() => {
        const late = find(call) ?? ofHeld(call, targets);
        return next(late === undefined ? call : { ...call, route: late });
      });
    };
}

/** The targets that a call names; none where its method has no target. */
function targetsOf({ method, params }: Pick<Call, "method" | "params">): readonly Target[] {
  if (hasNoTarget(method)) {
    return namingMembers(params).flatMap(({ kinds, value }) => kinds.map((kind) => ({ kind, name: value })));
  }
  const target = targetOf(method, params);
  return target === undefined ? [] : [target];
}

/**
 * Placed below `locate`. Looks up every target that was not found, so that hidden and unknown targets take
 * equally long.
 */
export function hiddenTargets(
  catalog: Pick<Catalog, "unfilteredView" | "capabilities" | "serversOf">,
  tasks: Pick<Tasks, "find">,
  onHidden: (call: Call, route: Route) => void,
): Middleware {
  const methods = new MethodRoutes(unfilteredCatalog(catalog), tasks);
  return (next) =>
    function hiddenTargets(call) {
      if (call.route !== undefined) return next(call);
      if (hasNoTarget(call.method)) {
        const found = methods.find(call);
        if (!(found instanceof GatewayError)) onHidden(call, found);
        return next(call);
      }
      const targets = targetsOf(call);
      if (targets.length > 0) {
        const view = catalog.unfilteredView(call.client);
        const route = targets
          .map(({ kind, name }) => view.find(kind, name))
          .find((found) => found !== undefined);
        if (route !== undefined) onHidden(call, route);
      }
      return next(call);
    };
}

/** The catalog without the rules that hide targets. */
export const unfilteredCatalog = (
  catalog: Pick<Catalog, "unfilteredView" | "capabilities" | "serversOf">,
) => ({
  view: (client: Client) => catalog.unfilteredView(client),
  unfilteredView: (client: Client) => catalog.unfilteredView(client),
  reachable: (client: Client) => catalog.serversOf(client),
  capabilities: (server: string, client: Client) => catalog.capabilities(server, client),
});
