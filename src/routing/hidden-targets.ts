/** Notices calls of what rules hide from the caller: to that one it is not there, and operators want to know all the same. */
import type { Catalog } from "../catalog/catalog.js";
import type { Call, Route } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import type { Middleware } from "../core/handler.js";
import { targetsOf } from "./locate.js";
import { hasNoTarget, MethodRoutes } from "./method-routes.js";
import type { Tasks } from "./tasks.js";

/** Belongs below `locate`. Looks up whatever that did not find, so hidden or not, an unknown target takes as long. */
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

/** The catalog as it would be if no rule hid anything. */
export const unfilteredCatalog = (
  catalog: Pick<Catalog, "unfilteredView" | "capabilities" | "serversOf">,
) => ({
  view: catalog.unfilteredView,
  unfilteredView: catalog.unfilteredView,
  reachable: catalog.serversOf,
  capabilities: catalog.capabilities,
});
