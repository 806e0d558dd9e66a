/** The rules and limits in effect, with how often each has applied, as operators see them. */
import type { WorkerAnswers } from "../../core/admin-page.js";
import type { CallConstraint } from "../../core/call-constraint.js";
import type { LimitConfig, MatcherConfig, PolicyConfig, RuleConfig } from "./config.js";
import type { Hits } from "./hits.js";
import type { Limits } from "./limits/limits.js";
import type { Rule } from "./rules/rule.js";

/** What `/api/v1/policy` answers. */
export interface PolicyInEffect {
  readonly default: PolicyConfig["default"];
  readonly rules: readonly RuleInEffect[];
  readonly limits: readonly LimitInEffect[];
}

interface Counted {
  readonly hits: number;
  /** ISO 8601; absent until there is one. */
  readonly lastHitAt?: string | undefined;
}

/** What something is about; absent members match everything. */
type Matches = Omit<MatcherConfig, "on"> & { readonly when?: string } & Readonly<Record<string, unknown>>;

/** One of the rules, or of the constraints of other features. */
interface RuleInEffect extends Counted {
  readonly name: string;
  readonly effect: RuleConfig["effect"] | "observe";
  readonly on: RuleConfig["on"];
  readonly matches: Matches;
}

/** One of the limits. */
interface LimitInEffect extends Counted {
  readonly name: string;
  readonly on: LimitConfig["on"];
  readonly matches: Matches;
  readonly per: LimitConfig["per"];
  readonly rate?: LimitConfig["rate"];
  readonly quota?: LimitConfig["quota"];
  readonly concurrency?: number;
  readonly timeoutMs?: number;
}

/** `limits`: those of calls, and those of searches; the two have the same configs. */
export function inEffect(
  fallback: PolicyConfig["default"],
  rules: readonly Rule[],
  constraints: readonly CallConstraint[],
  [limits, ownLimits]: readonly [Limits, Limits],
): PolicyInEffect {
  return {
    default: fallback,
    rules: [
      ...rules.map(({ config, hits }) => ({
        ...{ name: config.name, effect: config.effect, on: config.on },
        matches: matchesOf(config),
        ...countedOf([hits]),
      })),
      ...constraints.flatMap((constraint) =>
        constraint.inEffect().map((rule) => ({ ...rule, on: "call" as const })),
      ),
    ],
    limits: limits.all.map(({ config, hits }, at) => ({
      ...{ name: config.name, on: config.on, matches: matchesOf(config), per: config.per },
      ...(config.rate !== undefined && { rate: config.rate }),
      ...(config.quota !== undefined && { quota: config.quota }),
      ...(config.concurrency !== undefined && { concurrency: config.concurrency }),
      ...(config.timeoutMs !== undefined && { timeoutMs: config.timeoutMs }),
      ...countedOf([hits, ownLimits.all[at]?.hits]),
    })),
  };
}

const MATCHERS = [
  ...(["tools", "prompts", "resources", "methods", "servers"] as const),
  ...(["principals", "groups", "scopes", "annotations", "when"] as const),
];

function matchesOf(config: MatcherConfig & { readonly when?: string }): Matches {
  return Object.fromEntries(
    MATCHERS.flatMap((key) => (config[key] === undefined ? [] : [[key, config[key]] as const])),
  );
}

function countedOf(all: readonly (Hits | undefined)[]): Counted {
  const times = all.flatMap((hits) => hits?.lastAt ?? []);
  return {
    hits: all.reduce((sum, hits) => sum + (hits?.count ?? 0), 0),
    ...(times.length > 0 && { lastHitAt: new Date(Math.max(...times)).toISOString() }),
  };
}

/** The rules and limits of the first worker, with the hits of all: their sum, and the latest time. */
export function mergeInEffect(answers: WorkerAnswers<PolicyInEffect>): PolicyInEffect {
  const [{ body }] = answers;
  const merged = <Row extends RuleInEffect | LimitInEffect>(
    rows: readonly Row[],
    rowsOf: (answer: PolicyInEffect) => readonly Row[],
  ): readonly Row[] =>
    rows.map((row) => {
      const same = answers.flatMap(
        (answer) => rowsOf(answer.body).find(({ name }) => name === row.name) ?? [],
      );
      const lastHitAt = same
        .flatMap((one) => one.lastHitAt ?? [])
        .toSorted()
        .at(-1);
      const hits = same.reduce((sum, one) => sum + one.hits, 0);
      return { ...row, hits, ...(lastHitAt !== undefined && { lastHitAt }) };
    });
  return {
    default: body.default,
    rules: merged(body.rules, ({ rules }) => rules),
    limits: merged(body.limits, ({ limits }) => limits),
  };
}
