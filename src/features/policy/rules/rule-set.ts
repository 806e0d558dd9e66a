/** Which rule decides? The first that matches, in the order of the config. */

import type { Route } from "../../../core/call.js";
import { type Client, type Principal, tokenScopes } from "../../../core/client.js";
import { cooperativeYield } from "../../../runtime/cooperative-yield.js";
import type { PolicyConfig, RuleConfig } from "../config.js";
import { type ConditionResult, ExpressionCompiler } from "./expression.js";
import { mayShow } from "./may-show.js";
import {
  type Decision,
  factsOf,
  type PolicyInput,
  type RedactingRule,
  type RouteReadings,
  redacts,
} from "./policy-input.js";
import { compileRule, namesKinds, type PolicyFault, type Rule } from "./rule.js";
import { RuleIndex } from "./rule-index.js";
import { strictest } from "./strictest.js";
import {
  MAX_SLICES,
  MAX_STEPS_TOGETHER,
  STEPS_BEFORE_YIELD,
  STEPS_PER_SLICE,
  TOTAL_WORK_EXCEEDED,
  type WorkBudget,
} from "./work-budget.js";

/** The result of one rule, for `explain`. */
export interface RuleExplanation {
  readonly rule: RuleConfig;
  readonly answer: "other kind" | "other target" | "other principal" | ConditionResult;
}

/** Compiles every rule; `faults` lists everything that is wrong with them. */
export function compileRules(rules: readonly RuleConfig[]): {
  readonly rules: readonly Rule[];
  readonly faults: readonly PolicyFault[];
} {
  const compiler = new ExpressionCompiler();
  const compiled = rules.map((config, at) => compileRule(config, ["policy", "rules", at], compiler));
  return {
    rules: compiled.flatMap(({ rule }) => rule ?? []),
    faults: compiled.flatMap(({ faults }) => faults),
  };
}

/** The compiled rules of one config. */
export class RuleSet {
  readonly #rules: readonly Rule[];
  readonly #default: Decision & { readonly effect: PolicyConfig["default"] };
  /** Of questions of servers, which are in no list. */
  readonly #questionDefault: Decision;
  #conditionWords: ReadonlySet<string> | undefined;
  readonly #index: RuleIndex;

  constructor(rules: readonly Rule[], fallback: PolicyConfig["default"]) {
    this.#rules = rules;
    this.#default = { effect: fallback };
    this.#questionDefault = fallback === "hide" ? DENY : this.#default;
    this.#index = new RuleIndex(rules);
  }

  /**
   * The decision of the rules; where a URI can be read in several ways, the strictest. `budget` is what
   * conditions may take together; several matters may share it.
   */
  evaluate(input: PolicyInput, budget: WorkBudget = { steps: MAX_STEPS_TOGETHER }): Decision {
    const readings = this.#index.readingsOf(input.route);
    return readings === undefined
      ? this.#evaluateReading(input, budget)
      : this.#evaluateReadings(input, readings, (route) =>
          this.#evaluateReading({ ...input, route }, budget),
        );
  }

  /** The same, where conditions that take long let others go first; at once where they do not. */
  evaluateYielding(input: PolicyInput): Decision | Promise<Decision> {
    const budget: WorkBudget = { steps: STEPS_BEFORE_YIELD, canDefer: true, isExhausted: false };
    const decision = this.evaluate(input, budget);
    return budget.isExhausted === true ? this.#evaluateLater(input) : decision;
  }

  async #evaluateLater(input: PolicyInput): Promise<Decision> {
    const slices = { left: MAX_SLICES };
    const readings = this.#index.readingsOf(input.route);
    if (readings === undefined) return this.#evaluateReadingLater(input, slices);
    const decisions = new Map<Route, Decision>();
    for (const route of [...readings.all, ...readings.alike]) {
      decisions.set(route, await this.#evaluateReadingLater({ ...input, route }, slices));
    }
    return this.#evaluateReadings(input, readings, (route) => decisions.get(route) as Decision);
  }

  #evaluateReadings(
    input: PolicyInput,
    { all, alike, complete }: RouteReadings,
    decisionFor: (route: Route) => Decision,
  ): Decision {
    if (!complete && this.#index.mayDependOnUri(input)) {
      const { effect } = this.#defaultFor(input);
      return { effect: effect === "hide" ? "hide" : "deny", failed: TOO_MANY_READINGS };
    }
    const decisions = all.map(decisionFor);
    for (const route of alike) {
      const decision = decisionFor(route);
      if (decision.rule !== undefined && decision.effect !== "allow") decisions.push(decision);
    }
    return strictest(decisions);
  }

  #evaluateReading(input: PolicyInput, budget: WorkBudget): Decision {
    const rules = this.#index.undecidedFor(input);
    const decided = this.#evaluateFrom(0, rules, input, budget);
    if (typeof decided !== "number") return decided;
    budget.isExhausted = true;
    return this.#undecidedDecision(decided, rules, input);
  }

  async #evaluateReadingLater(input: PolicyInput, slices: { left: number }): Promise<Decision> {
    const rules = this.#index.undecidedFor(input);
    for (let at = 0; ; slices.left -= 1) {
      if (slices.left <= 0) return this.#undecidedDecision(at, rules, input);
      await cooperativeYield();
      const decided = this.#evaluateFrom(at, rules, input, { steps: STEPS_PER_SLICE });
      if (typeof decided !== "number") return decided;
      at = decided;
    }
  }

  /** The decision, or the rule to continue with when the budget is used up. */
  #evaluateFrom(
    from: number,
    rules: readonly Rule[],
    input: PolicyInput,
    budget: WorkBudget,
  ): Decision | number {
    for (let at = from; at < rules.length; at++) {
      const rule = rules[at] as Rule;
      if (input.onlyNamedTargets === true && rule.restricts && !namesKinds(rule.config)) continue;
      if (budget.steps <= 0) return at;
      const answer = this.#resultOf(rule, input, budget);
      if (answer === undefined) return at;
      if (rule.when !== undefined) budget.steps -= rule.when.spent;
      if (answer === "yes") return { effect: rule.config.effect, rule: rule.config, hits: rule.hits };
      if (answer !== "no" && rule.restricts) {
        return failedDecision(rule, answer.failed);
      }
    }
    return input.onlyNamedTargets === true ? ALLOW : this.#defaultFor(input);
  }

  #defaultFor({ on }: PolicyInput): Decision {
    return on === "call" ? this.#default : this.#questionDefault;
  }

  /** The rules that may redact what `server` gives, whatever target it is about. */
  mayRedactAt(client: Client, server: string): readonly RedactingRule[] {
    return this.#rules.flatMap(({ config, matcher }) =>
      redacts(config) &&
      config.on === "call" &&
      matcher.mayMatchServer(server) &&
      matcher.matchesPrincipal(client.principal)
        ? [config]
        : [],
    );
  }

  /** Undefined where the condition is deferred. */
  #resultOf(rule: Rule, input: PolicyInput, { steps, canDefer }: WorkBudget): ConditionResult | undefined {
    if (input.args === undefined && usesArgs(rule)) return UNKNOWN_ARGUMENTS;
    return canDefer === true && rule.when !== undefined
      ? rule.when.tryEvaluate(factsOf(input), steps)
      : conditionResult(rule, input);
  }

  /** The decision where the remaining rules exceed the budget: the first restricting one. */
  #undecidedDecision(from: number, rules: readonly Rule[], input: PolicyInput): Decision {
    const rule = rules.find(({ restricts }, at) => at >= from && restricts);
    return rule === undefined ? this.#defaultFor(input) : failedDecision(rule, TOTAL_WORK_EXCEEDED);
  }

  /**
   * The scopes with which the principal would be let through, where that is all it lacks: those of the first rule
   * that would then let it, if none decides before.
   */
  missingScopes(input: PolicyInput): readonly string[] | undefined {
    const readings = this.#index.readingsOf(input.route);
    if (readings === undefined) return this.#missingForReading(input);
    const scopes = new Set<string>();
    const budget = { steps: MAX_STEPS_TOGETHER };
    for (const route of [...readings.all, ...readings.alike]) {
      const reading = { ...input, route };
      if (this.#evaluateReading(reading, budget).effect !== "deny") continue;
      const missing = this.#missingForReading(reading);
      if (missing === undefined) return undefined;
      for (const scope of missing) scopes.add(scope);
    }
    return scopes.size === 0 ? undefined : [...scopes];
  }

  #missingForReading(input: PolicyInput): readonly string[] | undefined {
    const { principal } = input.client;
    const budget = { steps: MAX_STEPS_TOGETHER };
    for (const { config, matcher, when, restricts } of this.#index.rulesFor(input.on, input.route)) {
      if (budget.steps <= 0) return undefined;
      const lacks = !matcher.matchesPrincipal(principal);
      if (lacks && !matcher.matchesPrincipal(withScopes(principal, config.scopes ?? []))) continue;
      const answer = when?.evaluate(factsOf(input)) ?? "yes";
      budget.steps -= when?.spent ?? 0;
      if (answer === "no" || (answer !== "yes" && !restricts)) continue;
      // This one decides as things are; with more scopes an earlier one could have.
      if (!lacks) return undefined;
      if (config.effect !== "deny" && config.effect !== "hide") return config.scopes;
    }
    return undefined;
  }

  /**
   * The rules that may have decided to redact what a call gives whose arguments are no longer known: the one
   * that decides without them, and those before it that depend on them. In doubt more is redacted.
   */
  mayRedact(client: Client, route: Route): readonly RedactingRule[] {
    const readings = this.#index.readingsOf(route);
    if (readings === undefined) return this.#mayRedactReading(client, route);
    const all = [...readings.all, ...readings.alike];
    return [...new Set(all.flatMap((reading) => this.#mayRedactReading(client, reading)))];
  }

  /** All rules that redact for this client and target where they decide, whichever does. */
  redactingRulesOf(client: Client, route: Route): readonly RedactingRule[] {
    const { all = [route], alike = [] } = this.#index.readingsOf(route) ?? {};
    const rules = [...all, ...alike].flatMap((reading) => this.#index.rulesFor("call", reading));
    return [...new Set(rules)].flatMap(({ config, matcher }) =>
      redacts(config) && matcher.matchesPrincipal(client.principal) ? [config] : [],
    );
  }

  #mayRedactReading(client: Client, route: Route): readonly RedactingRule[] {
    const found: RedactingRule[] = [];
    for (const { config, matcher, when, restricts } of this.#index.rulesFor("call", route)) {
      if (!matcher.matchesPrincipal(client.principal)) continue;
      const unsure = when?.uses.has("args") === true;
      const answer =
        when === undefined || unsure ? "yes" : when.evaluate(factsOf({ on: "call", route, client }));
      if (answer === "no" || (answer !== "yes" && !restricts)) continue;
      if (redacts(config)) found.push(config);
      if (!unsure) break;
    }
    return found;
  }

  /** The decisions that calls of a tool may have: the first that needs no arguments to be known, after those that need them. */
  possible(client: Client, route: Route): readonly Decision[] {
    const found: Decision[] = [];
    for (const { config, matcher, when, restricts } of this.#index.rulesFor("call", route)) {
      if (!matcher.matchesPrincipal(client.principal)) continue;
      const isUnsure = when?.uses.has("args") === true;
      const answer =
        when === undefined || isUnsure ? "yes" : when.evaluate(factsOf({ on: "call", route, client }));
      if (answer === "no" || (answer !== "yes" && !restricts)) continue;
      found.push({ effect: config.effect, rule: config });
      if (!isUnsure) return found;
    }
    return [...found, this.#default];
  }

  /** Whether `client` sees the target in a list: whether there is any way to call it that is not unknown. */
  isVisible(client: Client, route: Route): boolean {
    const readings = this.#index.readingsOf(route);
    const isDefault = this.#default.effect !== "hide";
    if (readings === undefined) return this.#isReadingVisible(client, route, isDefault);
    if (!readings.complete && this.hides && this.#index.mayDependOnUri({ on: "call", route, client }))
      return false;
    return (
      readings.all.every((reading) => this.#isReadingVisible(client, reading, isDefault)) &&
      readings.alike.every((reading) => this.#isReadingVisible(client, reading, true))
    );
  }

  /** @param isDefault whether it is visible if no rule decides */
  #isReadingVisible(client: Client, route: Route, isDefault: boolean): boolean {
    for (const rule of this.#index.rulesFor("call", route)) {
      if (!rule.matcher.matchesPrincipal(client.principal)) continue;
      // Some call may be decided here, before a later rule can hide it.
      if (rule.when?.uses.has("args")) return true;
      const answer = rule.when?.evaluate(factsOf({ on: "call", route, client })) ?? "yes";
      if (answer === "yes" || (answer !== "no" && rule.restricts)) return rule.config.effect !== "hide";
    }
    return isDefault;
  }

  /** Whether `client` may see something whose name is not known yet, and begins like that of `start`. */
  mayShow(client: Client, start: Route): boolean {
    return mayShow(this.#rules, this.#default.effect, client, start);
  }

  /** Whether `client` may read the target now, without an approval. */
  allows(client: Client, route: Route): boolean {
    const { effect } = this.evaluate({ on: "call", route, client, args: {} });
    return effect === "allow" || effect === "redact";
  }

  /** The result of every rule, in order, also of those behind the deciding one. */
  explain(input: PolicyInput): readonly RuleExplanation[] {
    const readings = this.#index.readingsOf(input.route);
    const { all, alike } = readings ?? { all: [input.route], alike: [] };
    return this.#rules.map((rule) => {
      const answers = [...all, ...(rule.restricts ? alike : [])].map((route) =>
        explainRule(rule, { ...input, route }),
      );
      // What restricts counts by one reading, what allows by all.
      const decisive = answers.find((answer) => (answer === "yes") === rule.restricts);
      return { rule: rule.config, answer: decisive ?? answers[0] ?? "no" };
    });
  }

  /** Whether some rule must know how often a server has asked. */
  get countsRounds(): boolean {
    return this.#rules.some(({ config }) => config.maxRounds !== undefined);
  }

  /** Every word of a condition about calls, the names of arguments among them. */
  get conditionWords(): ReadonlySet<string> {
    this.#conditionWords ??= new Set(
      this.#rules.flatMap(({ config }) =>
        config.on === "call" && config.when !== undefined
          ? (config.when.match(/[\p{L}\p{N}_$-]+/gu) ?? [])
          : [],
      ),
    );
    return this.#conditionWords;
  }

  get hides(): boolean {
    return this.#default.effect === "hide" || this.#rules.some(({ config }) => config.effect === "hide");
  }
}

function explainRule(
  { config, matcher, restricts, when }: Rule,
  input: PolicyInput,
): RuleExplanation["answer"] {
  if (config.on !== input.on) return "other kind";
  if (!matcher.matchesRoute(input.route, restricts)) return "other target";
  if (!matcher.matchesPrincipal(input.client.principal)) return "other principal";
  return when?.evaluate(factsOf(input)) ?? "yes";
}

const TOO_MANY_READINGS = "its URI has too many readings";

const ALLOW: Decision = { effect: "allow" };
const DENY: Decision = { effect: "deny" };
const failedDecision = ({ config, hits }: Rule, failed: string): Decision => ({
  ...{ effect: config.effect, rule: config, failed, hits },
});

const conditionResult = ({ when }: Rule, input: PolicyInput): ConditionResult =>
  when?.evaluate(factsOf(input)) ?? "yes";
const usesArgs = ({ when }: Rule): boolean => when?.uses.has("args") === true;
const UNKNOWN_ARGUMENTS: ConditionResult = {
  failed: "it belongs to no single call, so its arguments are unknown",
};

/** The principal as a token would show it that grants these scopes too. */
const withScopes = (principal: Principal, scopes: readonly string[]): Principal => ({
  ...principal,
  claims: { ...principal.claims, scope: [...tokenScopes(principal), ...scopes].join(" ") },
});
