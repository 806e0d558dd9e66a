/** Finds out where the target of a call leads in the caller's own view, before anybody judges or counts the call. */
import type { Catalog } from "../catalog/catalog.js";
import type { Call, Route } from "../core/call.js";
import type { Middleware } from "../core/handler.js";
import { LIST_METHODS, looseTargets, TARGETED_METHODS, type Target, targetOf } from "../core/methods.js";
import { TASK_METHODS } from "../core/tasks.js";
import { stringAt } from "../wire/json.js";
import type { Tasks } from "./tasks.js";

/**
 * Sets `call.route`. A target of nobody is no failure here: the call goes on without a route, so that the log
 * and the metrics see it, and the router says that nobody has it.
 *
 * Who asks after a task is led to the tool that began it: what may be seen of its results is the same.
 */
export function locate(catalog: Pick<Catalog, "view" | "prepare">, tasks: Pick<Tasks, "find">): Middleware {
  const find = (call: Call, targets: readonly Target[]): Route | undefined => {
    const view = catalog.view(call.client);
    for (const { kind, name } of targets) {
      const route = view.find(kind, name);
      if (route !== undefined) return route;
    }
    return undefined;
  };
  const ofTask = ({ client, params }: Call): Route | undefined => {
    const task = tasks.find(client, stringAt(params, "taskId") ?? "");
    return task && catalog.view(client).owned("tools", task.server, task.tool);
  };
  return (next) =>
    function locate(call) {
      if (TASK_METHODS.has(call.method)) {
        const route = ofTask(call);
        return next(route === undefined ? call : { ...call, route });
      }
      const targets = targetsOf(call);
      if (targets.length === 0) return next(call);
      const route = find(call, targets);
      if (route !== undefined) return next({ ...call, route });
      // Perhaps its server is only just starting, or lists it for clients of this kind and was not asked yet; or it is
      // back, and its next attempt is not due.
      return catalog.prepare(call.client, targets).then(() => {
        const late = find(call, targets);
        return next(late === undefined ? call : { ...call, route: late });
      });
    };
}

/** What a call says it is about; nothing where its method is about no target. */
export function targetsOf({ method, params }: Pick<Call, "method" | "params">): readonly Target[] {
  if (Object.hasOwn(LIST_METHODS, method)) return [];
  if (!Object.hasOwn(TARGETED_METHODS, method)) return looseTargets(params);
  const target = targetOf(method, params);
  return target === undefined ? [] : [target];
}
