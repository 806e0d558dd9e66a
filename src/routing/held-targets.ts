/** Which calls are refused because a feature holds their target back? */
import type { Call, Middleware, Route } from "../core/call.js";
import type { GatewayError } from "../core/errors.js";
import type { ListAdmission } from "../core/list-admission.js";
import { TASK_METHODS } from "../core/methods.js";

/** Placed below `locate`, which finds the routes of held targets too. A task that runs already can be polled. */
export function refuseHeld(admissions: ReadonlyMap<string, Pick<ListAdmission, "held">>): Middleware {
  const refusalOf = ({ upstream, kind, target }: Route): GatewayError | undefined =>
    kind === "methods" ? undefined : admissions.get(upstream)?.held?.refusal(kind, target);
  const ofNamed = ({ namedTargets = [] }: Route): GatewayError | undefined => {
    for (const { route } of namedTargets) {
      const refusal = refusalOf(route);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
  const refusalFor = ({ route, method }: Call): GatewayError | undefined =>
    route === undefined || TASK_METHODS.has(method) ? undefined : (refusalOf(route) ?? ofNamed(route));
  return (next) =>
    function refuseHeld(call) {
      const refusal = refusalFor(call);
      return refusal === undefined ? next(call) : Promise.reject(refusal);
    };
}
