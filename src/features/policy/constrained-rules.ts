/** What constraints of other features and the rules decide together: the strictest counts, and one approval holds for both. */
import type { Call, Route } from "../../core/call.js";
import {
  type CallConstraint,
  type ConstraintDecision,
  constrained,
  prepared,
} from "../../core/call-constraint.js";
import type { RuleConfig } from "./config.js";
import type { Decision } from "./rules/policy-input.js";

/** Both decisions as one; `observed`: what is only recorded. */
export interface ConstrainedDecision {
  readonly decision: Decision;
  readonly observed?: RuleConfig;
}

/** Constraints are asked where the rules do not refuse the call. A promise where they learn from other processes first. */
export function constrainedDecision(
  constraints: readonly CallConstraint[],
  call: Call,
  route: Route,
  decision: Decision,
): ConstrainedDecision | Promise<ConstrainedDecision> {
  const { effect } = decision;
  if (constraints.length === 0 || effect === "deny" || effect === "hide") return { decision };
  const learning = prepared(constraints, call, route);
  return learning === undefined
    ? decidedTogether(constraints, call, route, decision)
    : learning.then(() => decidedTogether(constraints, call, route, decision));
}

function decidedTogether(
  constraints: readonly CallConstraint[],
  call: Call,
  route: Route,
  decision: Decision,
): ConstrainedDecision {
  const { effect } = decision;
  const found = constrained(constraints, call, route);
  if (found === undefined) return { decision };
  if (found.effect === "observe") return { decision, observed: ruleOf(found) };
  if (found.effect === "deny") return { decision: { effect: "deny", rule: ruleOf(found) } };
  const { rule, redacting, redactingHits, hits } = decision;
  if (effect === "approve" && rule !== undefined)
    return { decision: { ...decision, rule: bothRules(rule, ruleOf(found)) } };
  // What the rules take out of an allowed call, they take out of an approved one.
  const redactingRule = effect === "redact" && rule !== undefined ? redactingOf(rule) : [];
  const all = [...redactingRule, ...(redacting ?? [])];
  return {
    decision: {
      ...{ effect: "approve", rule: ruleOf(found) },
      ...(all.length > 0 && { redacting: all }),
      redactingHits: [...(effect === "redact" && hits !== undefined ? [hits] : []), ...(redactingHits ?? [])],
    },
  };
}

const redactingOf = (rule: RuleConfig) =>
  rule.redact === undefined ? [] : [{ ...rule, redact: rule.redact }];

/** A rule of a constraint, as approvals, refusals and the log of decisions know rules. */
const ruleOf = ({ rule, effect, message, approvers, approvalTimeoutMs }: ConstraintDecision): RuleConfig => ({
  ...{ name: rule, on: "call", message },
  effect: effect === "observe" ? "allow" : effect,
  ...(approvers !== undefined && { approvers }),
  ...(approvalTimeoutMs !== undefined && { approvalTimeoutMs }),
});

/**
 * One approval for two rules: by the approvers of the first, else by those of the other. It is not remembered, as it holds for what
 * happened before. Its name is another one, so that no approval for one of them alone counts.
 */
function bothRules(own: RuleConfig, other: RuleConfig): RuleConfig {
  const { rememberMs: _, isUnnamed: __, ...rest } = own;
  const lead = own.approvers === undefined ? other : own;
  return {
    ...rest,
    name: `${own.name}, ${other.name}`,
    message: [...(own.message === undefined ? [] : [own.message]), other.message ?? ""].join("\n"),
    ...(lead.approvers !== undefined && { approvers: lead.approvers }),
    ...(lead.approvalTimeoutMs !== undefined && { approvalTimeoutMs: lead.approvalTimeoutMs }),
  };
}
