/** What a feature decides about calls beside the rules: it can refuse one, or let a person decide. */
import type { Call, Route } from "./call.js";
import type { Explanation } from "./call-policy.js";

/** A constraint on the calls of one config. The strictest of it and the rules counts. */
export interface CallConstraint {
  /**
   * Learns from other processes what it needs to decide about this call; undefined where there is nothing to learn. Does not reject.
   * `decide` comes after it.
   */
  prepare?(call: Call, route: Route): Promise<void> | undefined;
  /**
   * What it says of a call that the rules allow, or for which they want an approval; undefined where it lets it through. It counts what it
   * decides. A later round of a call is asked about again.
   */
  decide(call: Call, route: Route): ConstraintDecision | undefined;
  /** What it would decide about a call, after calls of these targets in one conversation; nothing is counted. */
  explain(route: Route, after: readonly Route[]): readonly ExplainedConstraint[];
  /** Its rules, for operators. */
  inEffect(): readonly ConstraintRule[];
}

/** A decision. */
export interface ConstraintDecision {
  /** `observe`: the call is made; it is recorded what would have become of it. */
  readonly effect: "observe" | "approve" | "deny";
  /** The name of the rule, which no rule of another feature has. */
  readonly rule: string;
  /** For the refused caller, or for the person who decides: what happened before, and why that matters. */
  readonly message: string;
  /** With `approve`: who decides in place of the caller, by id or as `group:NAME`. */
  readonly approvers?: readonly string[] | undefined;
  /** With `approvers`: how long a call waits for a decision. */
  readonly approvalTimeoutMs?: number | undefined;
}

/** What one of its rules would do. */
export interface ExplainedConstraint {
  readonly rule: string;
  readonly effect: ConstraintDecision["effect"];
  readonly matches: boolean;
  readonly why: string;
  /** Of a rule that matches. */
  readonly message?: string;
}

/** One of its rules, with how often it has matched. */
export interface ConstraintRule {
  readonly name: string;
  readonly effect: ConstraintDecision["effect"];
  /** What it is about, by the keys of the config. */
  readonly matches: Readonly<Record<string, string | readonly string[]>>;
  readonly hits: number;
  /** ISO 8601; absent until there is one. */
  readonly lastHitAt?: string | undefined;
}

const STRICTNESS = ["observe", "approve", "deny"] as const;

const strictnessOf = ({ effect }: Pick<ConstraintDecision, "effect">): number => STRICTNESS.indexOf(effect);

/** Resolves when all of `constraints` can decide about the call; undefined where they can at once. */
export function prepared(
  constraints: readonly CallConstraint[],
  call: Call,
  route: Route,
): Promise<unknown> | undefined {
  const works = constraints.flatMap((constraint) => constraint.prepare?.(call, route) ?? []);
  return works.length === 0 ? undefined : Promise.all(works);
}

/** The strictest decision of `constraints`; of equal ones the first. Undefined where all let the call through. */
export function constrained(
  constraints: readonly CallConstraint[],
  call: Call,
  route: Route,
): ConstraintDecision | undefined {
  let strictest: ConstraintDecision | undefined;
  for (const constraint of constraints) {
    const decision = constraint.decide(call, route);
    if (decision === undefined) continue;
    if (strictest === undefined || strictnessOf(decision) > strictnessOf(strictest)) strictest = decision;
  }
  return strictest;
}

/** `explanation` by the rules, with what `constraints` say of the call. */
export function withConstraints(
  explanation: Explanation,
  constraints: readonly CallConstraint[],
  route: Route,
  after: readonly Route[] = [],
): Explanation {
  const rows = constraints.flatMap((constraint) => constraint.explain(route, after));
  if (rows.length === 0) return explanation;
  const [strictest] = rows
    .filter(isDecisive)
    .toSorted((one, other) => strictnessOf(other) - strictnessOf(one));
  const isRefused = explanation.effect === "deny" || explanation.effect === "hide";
  const decisive =
    isRefused || (explanation.effect === "approve" && strictest?.effect === "approve")
      ? undefined
      : strictest;
  return {
    ...explanation,
    ...(decisive !== undefined && {
      effect: decisive.effect,
      rule: decisive.rule,
      ...(decisive.message !== undefined && { message: decisive.message }),
    }),
    rules: [
      ...explanation.rules.map((row) => (decisive === undefined ? row : { ...row, decides: false })),
      ...rows.map(({ rule, effect, matches, why }) => ({
        ...{ rule, effect, matches, why },
        on: "call" as const,
        decides: rule === decisive?.rule,
      })),
    ],
  };
}

/** Whether it matches, and the call is not simply made. */
const isDecisive = (
  row: ExplainedConstraint,
): row is ExplainedConstraint & { readonly effect: "approve" | "deny" } =>
  row.matches && row.effect !== "observe";
