/** Finds out where the target of a call leads in the caller's own view, before anybody judges or counts the call. */
import type { Catalog } from "../catalog/catalog.js";
import type { Call, Route } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import type { Middleware } from "../core/handler.js";
import { type Target, targetOf } from "../core/methods.js";
import { TASK_METHODS } from "../core/tasks.js";
import { stringAt } from "../wire/json.js";
import { namingMembers } from "./method-names.js";
import { hasNoTarget, type MethodRoutes } from "./method-routes.js";
import type { Tasks } from "./tasks.js";

/**
 * Sets `call.route`. A target of nobody is no failure here: the call goes on without a route, so that the log
 * and the metrics see it, and the router says that nobody has it.
 *
 * Who asks after a task is led to the tool that began it: what may be seen of its results is the same.
 */
export function locate(
  catalog: Pick<Catalog, "view" | "prepare">,
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
      // Perhaps its server is only just starting, or lists it for clients of this kind and was not asked yet; or it is
      // back, and its next attempt is not due.
      return catalog.prepare(call.client, targets).then(() => {
        const late = find(call);
        return next(late === undefined ? call : { ...call, route: late });
      });
    };
}

/** What a call says it is about; nothing where its method is about no target. */
export function targetsOf({ method, params }: Pick<Call, "method" | "params">): readonly Target[] {
  if (hasNoTarget(method)) {
    return namingMembers(params).flatMap(({ kinds, value }) => kinds.map((kind) => ({ kind, name: value })));
  }
  const target = targetOf(method, params);
  return target === undefined ? [] : [target];
}
