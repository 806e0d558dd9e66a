/** Applies the constraints of features in a build without rules, which has no approvals: what would need one is refused. */
import type { Call, Middleware, Route } from "../core/call.js";
import { type CallConstraint, constrained, prepared, withConstraints } from "../core/call-constraint.js";
import type { CallPolicy } from "../core/call-policy.js";
import { GatewayError } from "../core/errors.js";
import { TASK_METHODS } from "../core/methods.js";

/** `policy`, whose calls pass `constraints` first; the same if there are none. */
export function constrainedPolicy(policy: CallPolicy, constraints: readonly CallConstraint[]): CallPolicy {
  if (constraints.length === 0) return policy;
  const access: Middleware = (next) => {
    const evaluated = policy.access(next);
    return async function constrainedCall(call) {
      const { route } = call;
      // A task was decided about with the call that created it.
      if (route !== undefined && !TASK_METHODS.has(call.method)) {
        await prepared(constraints, call, route);
        check(constraints, call, route);
      }
      return evaluated(call);
    };
  };
  return {
    ...policy,
    access,
    explain(call, knowsGroups, after) {
      const explanation = policy.explain(call, knowsGroups, after);
      return call.route === undefined
        ? explanation
        : withConstraints(explanation, constraints, call.route, after);
    },
  };
}

/** @throws GatewayError `denied` */
function check(constraints: readonly CallConstraint[], call: Call, route: Route): void {
  const decision = constrained(constraints, call, route);
  if (decision === undefined) return;
  const { effect, rule, message } = decision;
  if (call.record !== undefined) {
    call.record.decision = effect === "observe" ? effect : "deny";
    call.record.rule = rule;
  }
  if (effect === "observe") return;
  const lacks =
    effect === "approve" ? " It needs an approval, and this build has no rules that ask for one." : "";
  throw new GatewayError("denied", "gateway", `${message}${lacks}`, { rule, server: route.upstream });
}
