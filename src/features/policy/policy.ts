/** The policy of one config: what it forbids, what it hides, what it limits, and why. */
import type { Call, Route } from "../../core/call.js";
import { type CallConstraint, withConstraints } from "../../core/call-constraint.js";
import type { CallPolicy, Explanation } from "../../core/call-policy.js";
import type { Client, Principal } from "../../core/client.js";
import type { Logger } from "../../core/logger.js";
import type { SharedApprovals, SharedLimits } from "../../core/replicas.js";
import { Stop } from "../../core/stop.js";
import { glob } from "../../patterns/globs.js";
import { refusedQuestion } from "../../resilience/refused-questions.js";
import { onlyForUrlElicitation } from "../../resilience/safe-links.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import { access } from "./access.js";
import { type ApprovalExpiry, Approvals, type RememberedApproval, type SingleUse } from "./approvals.js";
import type { LimitConfig, PolicySettings, RuleConfig } from "./config.js";
import { DecisionLog, type DecisionRow } from "./decision-log.js";
import { compilePolicy } from "./faults.js";
import { inEffect, type PolicyInEffect } from "./in-effect.js";
import { Limits } from "./limits/limits.js";
import type { PolicyMetrics } from "./metrics.js";
import { outlookOf } from "./outlook.js";
import { evaluateSessionQuestion, type QuestionEvaluator } from "./questions.js";
import { messageRedaction } from "./redaction/outside-calls.js";
import { RuleRedactions } from "./redaction/rule-redactions.js";
import { continueHits } from "./rules/continue-hits.js";
import { evaluateMethod, policyInputsOf } from "./rules/method-inputs.js";
import { argsOf, type Decision, nameForRules } from "./rules/policy-input.js";
import type { Rule } from "./rules/rule.js";
import { type RuleExplanation, RuleSet } from "./rules/rule-set.js";
import type { ApprovalsOfReplicas } from "./second-person/approvals-of-replicas.js";
import { type ApprovalObserver, OpenApprovals } from "./second-person/open-approvals.js";
import { SecondPerson } from "./second-person/second-person.js";

/** The policy of one config, with what operators see of it. */
export interface Policy extends CallPolicy {
  /** The newest first. */
  decisions(count?: number): readonly DecisionRow[];
  /** The approvals that hold for a time, the newest first. */
  approvals(): readonly RememberedApproval[];
  /** Takes one back; false where there is none with this id. */
  revokeApproval(id: string): Promise<boolean>;
  /** What waits for the decision of another person. */
  readonly open: OpenApprovals;
  /** Its rules and limits, with how often each has applied. */
  inEffect(): PolicyInEffect;
  /** Ends its timers, and those of the policies before it. */
  close(): void;
  /** What the policy of the next config continues. */
  readonly carried: CarriedState;
}

/** What outlives a policy. */
interface CarriedState {
  readonly rules: readonly Rule[];
  readonly log: DecisionLog;
  readonly approvals: Approvals;
  readonly open: OpenApprovals;
  readonly limits: Limits;
  readonly ownLimits: Limits;
}

/** Whether it was created here. */
export const isPolicy = (policy: CallPolicy): policy is Policy => "carried" in policy;

/**
 * Puts the policy of a config into effect. What the policy of the config before it remembers (approvals, rates,
 * decisions) continues, as far as the two agree.
 *
 * @throws RangeError naming the first fault; `compilePolicy` has all of them.
 */
export function createPolicy(
  config: PolicySettings,
  parts: PolicyParts,
  before?: Policy,
  constraints: readonly CallConstraint[] = [],
): Policy {
  const { rules, faults } = compilePolicy(config);
  const [fault] = faults;
  if (fault !== undefined) throw new RangeError(`${fault.path.join(".")}: ${fault.message}`);
  const fallback = config.policy?.default ?? "allow";
  const carried = before?.carried;
  const counted = continueHits(rules, carried?.rules ?? []);
  const ruleSet = new RuleSet(counted, fallback);
  const log = carried?.log ?? new DecisionLog(parts.metrics, parts.logger);
  const approvals =
    carried?.approvals ?? new Approvals(parts.useOnce, parts.approvalExpiry, parts.sharedApprovals);
  const open = carried?.open ?? new OpenApprovals(parts.approvals);
  const limits = new Limits(config.limits ?? [], parts.metrics, carried?.limits, parts.sharedLimits);
  const ownLimits = new Limits(
    config.limits ?? [],
    parts.metrics,
    carried?.ownLimits,
    parts.sharedLimits,
    "searches",
  );
  const spend: QuestionEvaluator["spend"] = (kind, call, routes) => limits.spendQuestion(kind, call, routes);
  const evaluator = { ruleSet, log, spend };
  const redactions = new RuleRedactions();
  const secondPerson = new SecondPerson(open, parts.replicas);
  const accessMiddleware = access(evaluator, approvals, redactions, secondPerson, constraints);
  const isTrivial =
    rules.length === 0 && fallback === "allow" && !limitsQuestions(config.limits) && constraints.length === 0;

  return {
    access: isTrivial ? onlyForUrlElicitation(accessMiddleware) : accessMiddleware,
    limits: (config.limits ?? []).length === 0 ? (next) => next : limits.middleware,
    ownLimits: ownLimits.middleware,
    question: (client, server, targets, question) => {
      // Of nothing in particular: rules and limits that name targets are asked about each of them.
      const alone: Route = { upstream: server, target: "", exposed: "", kind: "tools" };
      const others = isTrivial ? [] : targets;
      const permitted = evaluateSessionQuestion(
        evaluator,
        callOfQuestion(client, question),
        [alone, ...others],
        question,
      );
      if (permitted !== undefined) return permitted;
      throw refusedQuestion(server, question);
    },
    redactionOutsideCalls(client, server) {
      const redacting = ruleSet.mayRedactAt(client, server);
      return redacting.length === 0
        ? undefined
        : messageRedaction(redacting.map((rule) => redactions.of(rule)));
    },
    visible: ruleSet.hides ? (client, route) => ruleSet.isVisible(client, route) : undefined,
    mayShow: ruleSet.hides ? (client, start) => ruleSet.mayShow(client, start) : undefined,
    recordHidden: (call, route) => {
      const decision =
        route.kind === "methods"
          ? evaluateMethod(ruleSet, call, route).decision
          : ruleSet.evaluate({ on: "call", route, client: call.client, args: argsOf(call) });
      if (decision.effect === "hide") log.add(call, route, "call", decision);
    },
    maySubscribe: isTrivial ? undefined : (client, route) => ruleSet.allows(client, route),
    timeoutMs: limits.hasTimeouts ? (call) => limits.timeoutMs(call) : undefined,
    decisions: (count) => log.latest(count),
    approvals: () => approvals.remembered(),
    revokeApproval: (id) => approvals.revoke(id),
    outlook: (client, route) => outlookOf(ruleSet.possible(client, route)),
    open,
    close() {
      approvals.close();
      open.close();
    },
    explain(call, knowsGroups, after) {
      const explanation = explain(ruleSet, limits, call, knowsGroups);
      return call.route === undefined
        ? explanation
        : withConstraints(explanation, constraints, call.route, after);
    },
    inEffect: () => inEffect(fallback, counted, constraints, [limits, ownLimits]),
    carried: { rules: counted, log, approvals, open, limits, ownLimits },
  };
}

/** A question outside all calls is evaluated, logged and limited like one within a call. */
const callOfQuestion = (client: Client, { method, params }: JsonObject): Call => ({
  id: 0,
  method: String(method),
  params: isObject(params) ? params : {},
  client,
  signal: new Stop().signal,
  notify: () => {},
});

/** What a policy reports to. */
export interface PolicyParts {
  readonly metrics: PolicyMetrics;
  readonly logger: Logger;
  /** Where replicas count together. */
  readonly sharedLimits?: SharedLimits | undefined;
  /** Where replicas share a store: uses the answer to an approval once over all of them. */
  readonly useOnce?: SingleUse | undefined;
  /** Where approvals are remembered by all replicas. */
  readonly sharedApprovals?: SharedApprovals | undefined;
  /** Learns of approvals by other persons. */
  readonly approvals?: ApprovalObserver | undefined;
  /** Approvals by other persons at all replicas. */
  readonly replicas?: ApprovalsOfReplicas | undefined;
  /** Learns that the time of approvals is over. */
  readonly approvalExpiry?: ApprovalExpiry | undefined;
}

const limitsQuestions = (limits: readonly LimitConfig[] | undefined): boolean =>
  (limits ?? []).some(({ on }) => on !== "call");

function explain(ruleSet: RuleSet, limits: Limits, call: Call, knowsGroups: boolean): Explanation {
  const { route, client } = call;
  if (route === undefined) return { effect: "allow", rule: "default", visible: true, rules: [], limits: [] };
  const inputs =
    route.kind === "methods"
      ? policyInputsOf(call, route)
      : ([{ on: "call", route, client, args: argsOf(call) }] as const);
  const decision: Decision =
    route.kind === "methods" ? evaluateMethod(ruleSet, call, route).decision : ruleSet.evaluate(inputs[0]);
  // Of what a method names, one line for each rule: with the arguments, among those that may be meant, that it takes.
  const rows = new Map<string, Explanation["rules"][number]>();
  for (const input of inputs) {
    const own = ruleSet.evaluate(input);
    for (const { rule, answer } of ruleSet.explain(input)) {
      const of = input.route === route ? undefined : nameForRules(input.route);
      const key = `${rule.name}\0${of ?? ""}`;
      const decides = rule === own.rule;
      if (rows.has(key) && !decides) continue;
      rows.set(key, {
        rule: rule.name,
        effect: rule.effect,
        on: rule.on,
        matches: answer === "yes",
        decides,
        why: !knowsGroups && isOfGroups(answer, rule, client.principal) ? DEPENDS : reason(answer, rule),
        ...(of !== undefined && { of }),
      });
    }
  }
  const explained = [...rows.values()];
  return {
    effect: mayBeOther(explained, decision.effect) ? "depends_on_groups" : decision.effect,
    rule: decision.rule?.name ?? "default",
    ...(decision.rule?.message !== undefined && { message: decision.rule.message }),
    visible: ruleSet.isVisible(client, route),
    rules: explained,
    limits: limits.applicable("call", call, route).map(({ limit, route: about }) => ({
      limit: limit.config.name,
      per: limit.config.per,
      waitMs: Math.ceil(limit.waitMs(call, about)),
      ...(limit.config.timeoutMs !== undefined && { timeoutMs: limit.config.timeoutMs }),
      ...(limit.config.concurrency !== undefined && { concurrency: limit.config.concurrency }),
    })),
  };
}

const DEPENDS = "it depends on groups, which are not known";

/** Whether the answer of a rule for a principal without groups may be another one for it with some. */
function isOfGroups(
  answer: RuleExplanation["answer"],
  { principals, groups, scopes, when }: RuleConfig,
  { id }: Principal,
): boolean {
  if (answer === "other kind" || answer === "other target") return false;
  if (answer === "other principal")
    return (groups ?? scopes) !== undefined && (principals?.some((pattern) => glob(pattern)(id)) ?? true);
  return when !== undefined && READS_GROUPS.test(when);
}
/** Anything of the principal but its id. */
const READS_GROUPS = /\bprincipal\b(?!\s*\.\s*id\b)/;

/** Whether a rule up to the deciding one depends on groups, and would decide otherwise. */
function mayBeOther(rows: Explanation["rules"], effect: Decision["effect"]): boolean {
  const end = rows.findIndex(({ decides }) => decides);
  return (end === -1 ? rows : rows.slice(0, end + 1)).some(
    (row) => row.why === DEPENDS && (row.decides || row.effect !== effect),
  );
}

function reason(answer: RuleExplanation["answer"], rule: RuleConfig): string {
  if (typeof answer === "object") return `its condition cannot be evaluated: ${answer.failed}`;
  switch (answer) {
    case "other kind":
      return "it applies to other traffic";
    case "other target":
      return "it applies to other tools, prompts, resources or servers";
    case "other principal":
      return "it applies to other principals";
    case "no":
      return "its condition is not met";
    case "yes":
      return `it matches ${matchedBy(rule)}`;
  }
}

/** What of a rule there was to match; all of it has. */
function matchedBy(rule: RuleConfig): string {
  const parts = [
    ...(["tools", "prompts", "resources", "methods", "servers", "annotations"] as const),
    ...(["principals", "groups", "scopes", "when"] as const),
  ].filter((key) => rule[key] !== undefined);
  return parts.length === 0 ? "every call" : `by its ${parts.join(", ")}`;
}
