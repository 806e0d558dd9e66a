/** Notices calls of what rules hide from the caller: to that one it is not there, and operators want to know all the same. */
import type { Catalog } from "../catalog/catalog.js";
import type { Call, Route } from "../core/call.js";
import type { Middleware } from "../core/handler.js";
import { targetsOf } from "./locate.js";

/** Belongs below `locate`. Looks up whatever that did not find, so hidden or not, an unknown target takes as long. */
export function hiddenTargets(
  catalog: Pick<Catalog, "unhidden">,
  tell: (call: Call, route: Route) => void,
): Middleware {
  return (next) =>
    function hiddenTargets(call) {
      if (call.route !== undefined) return next(call);
      const targets = targetsOf(call);
      if (targets.length > 0) {
        const view = catalog.unhidden(call.client);
        const route = targets
          .map(({ kind, name }) => view.find(kind, name))
          .find((found) => found !== undefined);
        if (route !== undefined) tell(call, route);
      }
      return next(call);
    };
}
