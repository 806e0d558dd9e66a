/** The flow rules of one config, as a constraint on its calls. */
import type { Call, Route } from "../../core/call.js";
import type {
  CallConstraint,
  ConstraintDecision,
  ConstraintRule,
  ExplainedConstraint,
} from "../../core/call-constraint.js";
import type { Logger } from "../../core/logger.js";
import type { Conversation, Conversations } from "./conversations.js";
import type { LabelSource, Labels } from "./labels.js";
import type { FlowDecision } from "./metrics.js";
import type { FlowRule, Touched } from "./section.js";
import { nameOf, nouns, question, refusal, touchedText } from "./words.js";

/** What it reads and reports to. */
export interface ConstraintParts {
  readonly labels: LabelSource;
  readonly conversations: Conversations;
  readonly count: (rule: string, decision: FlowDecision) => void;
  readonly logger: Logger;
}

const STRICTNESS = ["observe", "approve", "deny"] as const;

/** A rule, with how often it has matched. */
interface CountedRule {
  readonly rule: FlowRule;
  hits: number;
  /** ms since 1970. */
  lastAt: number | undefined;
}

/** The rules of one config. */
export class FlowConstraint implements CallConstraint {
  readonly #parts: ConstraintParts;
  readonly #rules: readonly CountedRule[];
  /** Rules that were logged for calls of unknown conversations. */
  readonly #logged: Set<string>;

  /** @param before of the config before, whose counts continue for equal rules */
  constructor(rules: readonly FlowRule[], parts: ConstraintParts, before?: FlowConstraint) {
    this.#parts = parts;
    this.#logged = before === undefined ? new Set() : before.#logged;
    const earlier = before === undefined ? [] : before.#rules;
    this.#rules = rules.map((rule) => {
      const known = earlier.find((each) => each.rule.name === rule.name);
      return known === undefined ? { rule, hits: 0, lastAt: undefined } : { ...known, rule };
    });
  }

  prepare(call: Call, route: Route): Promise<void> | undefined {
    const { labels, conversations } = this.#parts;
    const own = labels.of(route);
    if (!own.external) return undefined;
    const { conversation } = conversations.of(call);
    const isDecided = this.#rules.every(({ rule }) => missing(rule, own, conversation).length === 0);
    return isDecided ? undefined : conversations.learn(call);
  }

  decide(call: Call, route: Route): ConstraintDecision | undefined {
    const own = this.#parts.labels.of(route);
    if (!own.external) return undefined;
    const { conversation, isWhole } = this.#parts.conversations.of(call);
    const isFirstRound = call.inputResponses?.state === undefined;
    let strictest: FlowRule | undefined;
    for (const counted of this.#rules) {
      const { rule } = counted;
      if (missing(rule, own, conversation).length > 0) {
        if (isFirstRound) this.#countUnmatched(rule, isWhole);
        continue;
      }
      // A later round is the same call: it counts again only where it is refused.
      if (isFirstRound || rule.effect === "deny") this.#countMatched(counted);
      if (rule.effect === "observe" && isFirstRound) this.#logObserved(rule, route, own, conversation);
      if (strictest === undefined || strictness(rule) > strictness(strictest)) strictest = rule;
    }
    return strictest && decisionOf(strictest, route, touchedText(strictest, own, conversation));
  }

  explain(route: Route, after: readonly Route[]): readonly ExplainedConstraint[] {
    const { labels } = this.#parts;
    const own = labels.of(route);
    const touched = touchedBy(after, labels);
    return this.#rules.map(({ rule }): ExplainedConstraint => {
      const { name, effect } = rule;
      const lacking = missing(rule, own, touched);
      const isMatched = own.external && lacking.length === 0;
      return {
        ...{ rule: name, effect, matches: isMatched },
        why: isMatched
          ? `it sends to the outside, after ${touchedText(rule, own, touched)}`
          : own.external
            ? `no call before it has touched ${nouns(lacking)} (--after supposes some)`
            : "it applies to other tools, prompts, resources or servers",
        ...(isMatched && { message: decisionOf(rule, route, touchedText(rule, own, touched)).message }),
      };
    });
  }

  inEffect(): readonly ConstraintRule[] {
    return this.#rules.map(({ rule: { name, effect, after, sends }, hits, lastAt }) => ({
      ...{ name, effect, matches: { after, sends }, hits },
      ...(lastAt !== undefined && { lastHitAt: new Date(lastAt).toISOString() }),
    }));
  }

  #countMatched(counted: CountedRule): void {
    const { name, effect } = counted.rule;
    counted.hits += 1;
    counted.lastAt = Date.now();
    this.#parts.count(name, effect);
  }

  #countUnmatched({ name }: FlowRule, isWhole: boolean): void {
    const { count, logger } = this.#parts;
    count(name, isWhole ? "allow" : "unknown");
    if (isWhole || this.#logged.has(name)) return;
    this.#logged.add(name);
    logger.warn(
      { event: "flow_unknown", rule: name },
      "a flow rule could not be applied to a call: what its conversation touched before is not known (docs/flow.md)",
    );
  }

  /** Once for each conversation. */
  #logObserved(rule: FlowRule, route: Route, own: Labels, conversation: Conversation | undefined): void {
    const logged = conversation?.logged ?? this.#logged;
    if (logged.has(rule.name)) return;
    logged.add(rule.name);
    const touched = touchedText(rule, own, conversation);
    this.#parts.logger.warn(
      { event: "flow_observed", rule: rule.name, target: nameOf(route), server: route.upstream, touched },
      "a flow rule observed a call that sends after what its conversation has touched",
    );
  }
}

const strictness = ({ effect }: FlowRule): number => STRICTNESS.indexOf(effect);

/** What a rule waits for that neither the conversation nor the call itself touches. */
const missing = (
  { after }: FlowRule,
  own: Labels,
  conversation: Pick<Conversation, Touched> | undefined,
): readonly Touched[] => after.filter((label) => !own[label] && conversation?.[label] === undefined);

function decisionOf(rule: FlowRule, route: Route, touched: string): ConstraintDecision {
  const { name, effect, approvers, approvalTimeoutMs } = rule;
  const message = (effect === "approve" ? question : refusal)(rule, route, touched);
  return { effect, rule: name, message, approvers, approvalTimeoutMs };
}

/** What calls of these targets touch. */
export function touchedBy(
  routes: readonly Route[],
  labels: LabelSource,
): Partial<Record<Touched, readonly string[]>> {
  const touched: Partial<Record<Touched, readonly string[]>> = {};
  for (const route of routes) {
    const own = labels.of(route);
    for (const label of ["private", "untrusted"] as const)
      if (own[label]) touched[label] = [...(touched[label] ?? []), nameOf(route)];
  }
  return touched;
}
