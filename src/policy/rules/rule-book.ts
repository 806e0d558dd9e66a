/** All rules of the policy in their order: the first one that matches decides. */
import type { JudgedKind, PolicyConfig, RuleConfig } from "../../config/config.js";
import type { Call, Route } from "../../core/call.js";
import { type Client, type Principal, scopesOf } from "../../core/client.js";
import { myTurn } from "../../core/large-work.js";
import { PARAMS } from "../../core/members.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import type { Answer, Facts } from "./expression.js";
import { judgedName, type RouteReadings, readingsOfRoute } from "./route-readings.js";
import { compileRule, type PolicyFault, type Rule } from "./rule.js";
import { namesKinds } from "./subject.js";

export interface Decision {
  readonly effect: RuleConfig["effect"];
  /** The rule that decided; absent where none matched and the default did. */
  readonly rule?: RuleConfig;
  /** Why the rule's expression could not be answered, where it could not; it was decided against the caller. */
  readonly failed?: string;
  /** Rules that redact by other readings of the URI; what they take out is taken out too. */
  readonly redacting?: readonly RedactingRule[];
}

export type RedactingRule = RuleConfig & { readonly redact: NonNullable<RuleConfig["redact"]> };
export const redacts = (rule: RuleConfig): rule is RedactingRule =>
  rule.effect === "redact" && rule.redact !== undefined;

/** What is judged. */
export interface Matter {
  readonly on: JudgedKind;
  readonly route: Route;
  readonly client: Client;
  /**
   * The arguments of the call; nothing while only a list is shown, and where a question belongs to no call whose
   * arguments are known.
   */
  readonly args?: unknown;
  /** The parameters of the server's question. */
  readonly request?: JsonObject;
  /** Only rules that name what it is about may decide, or let it through; in doubt nobody has named it. */
  readonly byName?: boolean;
}

/** How one rule took a matter, for `explain`. */
export interface Finding {
  readonly rule: RuleConfig;
  readonly answer: "other kind" | "other target" | "other principal" | Answer;
}

/** Compiles every rule, or tells everything that is wrong with them. */
export function compileRules(rules: readonly RuleConfig[]): {
  readonly rules: readonly Rule[];
  readonly faults: readonly PolicyFault[];
} {
  const compiled = rules.map((config, at) => compileRule(config, ["policy", "rules", at]));
  return {
    rules: compiled.flatMap(({ rule }) => rule ?? []),
    faults: compiled.flatMap(({ faults }) => faults),
  };
}

/** What is left of the work that conditions may be, in steps of about 100 ns (`work.ts`). */
export interface Budget {
  steps: number;
  /** Whether a condition that takes more than that can be asked again, later. */
  readonly putsOff?: boolean;
  /** Set where it did not do. */
  isSpent?: boolean;
}

/** Of all conditions that are asked at once: some 50 ms. A single one may take half of that. */
export const STEPS_AT_ONCE = 500_000;
/** What is more than some 2 ms waits for its turn. */
const STEPS_AT_FIRST = 20_000;
/** After so much others get theirs. */
const STEPS_IN_A_TURN = 50_000;
/** Of so many turns: between a tenth of a second of work and a second in all. */
const MOST_TURNS = 40;
const ALL_TOO_MUCH = "the conditions of all rules together are more work than they may be";

export class RuleBook {
  readonly #rules: readonly Rule[];
  readonly #default: Decision;
  #conditionWords: ReadonlySet<string> | undefined;
  readonly #readsUris: boolean;
  /** Routes live as long as the list they stand in, so their rules are looked for once per list. */
  readonly #covering = new Map<JudgedKind, WeakMap<Route, readonly Rule[]>>();
  /** Of those, the ones that may yet decide for a principal; whoever comes again is the same object. */
  readonly #undecided = new WeakMap<readonly Rule[], WeakMap<Principal, readonly Rule[]>>();

  constructor(rules: readonly Rule[], fallback: PolicyConfig["default"]) {
    this.#rules = rules;
    this.#default = { effect: fallback };
    this.#readsUris = rules.some(hangsOnUri);
  }

  /**
   * What the rules say; where a URI can be read in several ways, what they say to the worst of them. `budget` is what
   * conditions may take together; several matters may share it.
   */
  judge(matter: Matter, budget: Budget = { steps: STEPS_AT_ONCE }): Decision {
    const readings = this.#readingsOf(matter.route);
    return readings === undefined
      ? this.#judgeReading(matter, budget)
      : this.#judgeReadings(matter, readings, (route) => this.#judgeReading({ ...matter, route }, budget));
  }

  /** The same, where conditions that take long let others go first; at once where they do not. */
  judgeInTurns(matter: Matter): Decision | Promise<Decision> {
    const budget: Budget = { steps: STEPS_AT_FIRST, putsOff: true, isSpent: false };
    const decision = this.judge(matter, budget);
    return budget.isSpent === true ? this.#judgeLater(matter) : decision;
  }

  async #judgeLater(matter: Matter): Promise<Decision> {
    const turns = { left: MOST_TURNS };
    const readings = this.#readingsOf(matter.route);
    if (readings === undefined) return this.#judgeReadingLater(matter, turns);
    const decisions = new Map<Route, Decision>();
    for (const route of [...readings.all, ...readings.alike]) {
      decisions.set(route, await this.#judgeReadingLater({ ...matter, route }, turns));
    }
    return this.#judgeReadings(matter, readings, (route) => decisions.get(route) as Decision);
  }

  #readingsOf(route: Route): RouteReadings | undefined {
    return this.#readsUris || route.apart !== undefined ? readingsOfRoute(route) : undefined;
  }

  #judgeReadings(
    matter: Matter,
    { all, alike, complete }: RouteReadings,
    judged: (route: Route) => Decision,
  ): Decision {
    if (!complete && this.#mayMatter(matter)) return { effect: "deny", failed: TOO_MANY_READINGS };
    const decisions = all.map(judged);
    for (const route of alike) {
      const decision = judged(route);
      if (decision.rule !== undefined && decision.effect !== "allow") decisions.push(decision);
    }
    return strictest(decisions);
  }

  /** Whether some rule may decide by the URI of a call. */
  #mayMatter({ on, route, client }: Matter): boolean {
    return this.#rules.some(
      (rule) =>
        rule.config.on === on &&
        hangsOnUri(rule) &&
        rule.subject.serves(route) &&
        rule.subject.isAbout(client.principal),
    );
  }

  #judgeReading(matter: Matter, budget: Budget): Decision {
    const rules = this.#undecidedFor(matter);
    const decided = this.#judgeFrom(0, rules, matter, budget);
    if (typeof decided !== "number") return decided;
    budget.isSpent = true;
    return this.#inDoubt(decided, rules);
  }

  async #judgeReadingLater(matter: Matter, turns: { left: number }): Promise<Decision> {
    const rules = this.#undecidedFor(matter);
    for (let at = 0; ; turns.left -= 1) {
      if (turns.left <= 0) return this.#inDoubt(at, rules);
      await myTurn();
      const decided = this.#judgeFrom(at, rules, matter, { steps: STEPS_IN_A_TURN });
      if (typeof decided !== "number") return decided;
      at = decided;
    }
  }

  /** The decision, or the rule to go on with when the budget is used up. */
  #judgeFrom(from: number, rules: readonly Rule[], matter: Matter, budget: Budget): Decision | number {
    for (let at = from; at < rules.length; at++) {
      const rule = rules[at] as Rule;
      if (matter.byName === true && rule.restricts && !namesKinds(rule.config)) continue;
      if (budget.steps <= 0) return at;
      const answer = this.#answerOf(rule, matter, budget);
      if (answer === undefined) return at;
      if (rule.when !== undefined) budget.steps -= rule.when.spent;
      if (answer === "yes") return { effect: rule.config.effect, rule: rule.config };
      if (answer !== "no" && rule.restricts) {
        return { effect: rule.config.effect, rule: rule.config, failed: answer.failed };
      }
    }
    return matter.byName === true ? LET : this.#default;
  }

  /** The rules that may redact what `server` gives, whatever target it is about. */
  mayRedactAt(client: Client, server: string): readonly RedactingRule[] {
    return this.#rules.flatMap(({ config, subject }) =>
      redacts(config) && config.on === "call" && subject.isOf(server) && subject.isAbout(client.principal)
        ? [config]
        : [],
    );
  }

  /** Undefined for what is put off. */
  #answerOf(rule: Rule, matter: Matter, { steps, putsOff }: Budget): Answer | undefined {
    if (matter.args === undefined && usesArgs(rule)) return UNKNOWN;
    return putsOff === true && rule.when !== undefined
      ? rule.when.tryAsk(factsOf(matter), steps)
      : askedOf(rule, matter);
  }

  /** What is decided where the rest of the rules cannot be asked any more. */
  #inDoubt(from: number, rules: readonly Rule[]): Decision {
    const rule = rules.find(({ restricts }, at) => at >= from && restricts);
    return rule === undefined
      ? this.#default
      : { effect: rule.config.effect, rule: rule.config, failed: ALL_TOO_MUCH };
  }

  /**
   * The scopes with which the principal would be let through, where that is all it lacks: those of the first rule
   * that would then let it, if none decides before.
   */
  missingScopes(matter: Matter): readonly string[] | undefined {
    const readings = this.#readingsOf(matter.route);
    if (readings === undefined) return this.#missingForReading(matter);
    const scopes = new Set<string>();
    const budget = { steps: STEPS_AT_ONCE };
    for (const route of [...readings.all, ...readings.alike]) {
      const reading = { ...matter, route };
      if (this.#judgeReading(reading, budget).effect !== "deny") continue;
      const missing = this.#missingForReading(reading);
      if (missing === undefined) return undefined;
      for (const scope of missing) scopes.add(scope);
    }
    return scopes.size === 0 ? undefined : [...scopes];
  }

  #missingForReading(matter: Matter): readonly string[] | undefined {
    const { principal } = matter.client;
    const budget = { steps: STEPS_AT_ONCE };
    for (const { config, subject, when, restricts } of this.#about(matter.on, matter.route)) {
      if (budget.steps <= 0) return undefined;
      const lacks = !subject.isAbout(principal);
      if (lacks && !subject.isAbout(granted(principal, config.scopes ?? []))) continue;
      const answer = when?.ask(factsOf(matter)) ?? "yes";
      budget.steps -= when?.spent ?? 0;
      if (answer === "no" || (answer !== "yes" && !restricts)) continue;
      // This one decides as things are; with more scopes an earlier one could have.
      if (!lacks) return undefined;
      if (config.effect !== "deny" && config.effect !== "hide") return config.scopes;
    }
    return undefined;
  }

  /**
   * The rules that may have decided to redact what a call gives whose arguments are not known any more: the one
   * that decides without them, and those before it of which nobody can tell. Better too much than too little.
   */
  mayRedact(client: Client, route: Route): readonly RedactingRule[] {
    const found: RedactingRule[] = [];
    for (const { config, subject, when, restricts } of this.#about("call", route)) {
      if (!subject.isAbout(client.principal)) continue;
      const unsure = when?.uses.has("args") === true;
      const answer = when === undefined || unsure ? "yes" : when.ask(factsOf({ on: "call", route, client }));
      if (answer === "no" || (answer !== "yes" && !restricts)) continue;
      if (redacts(config)) found.push(config);
      if (!unsure) break;
    }
    return found;
  }

  /** Whether `client` sees the target in a list: whether there is any way to call it that is not unknown. */
  isVisible(client: Client, route: Route): boolean {
    const readings = this.#readingsOf(route);
    if (readings === undefined) return this.#isReadingVisible(client, route);
    const shows = (reading: Route): boolean => this.#isReadingVisible(client, reading);
    if (!readings.complete && this.hides && this.#mayMatter({ on: "call", route, client })) return false;
    return readings.all.every(shows) && readings.alike.every(shows);
  }

  #isReadingVisible(client: Client, route: Route): boolean {
    for (const rule of this.#about("call", route)) {
      if (!rule.subject.isAbout(client.principal)) continue;
      // Some call may be decided here, before a later rule can hide it.
      if (rule.when?.uses.has("args")) return true;
      const answer = rule.when?.ask(factsOf({ on: "call", route, client })) ?? "yes";
      if (answer === "yes" || (answer !== "no" && rule.restricts)) return rule.config.effect !== "hide";
    }
    return true;
  }

  /** Whether `client` could read the target right now, without anybody being asked. */
  lets(client: Client, route: Route): boolean {
    const { effect } = this.judge({ on: "call", route, client, args: {} });
    return effect === "allow" || effect === "redact";
  }

  /** What every rule says, in order, the deciding one and those behind it too. */
  explain(matter: Matter): readonly Finding[] {
    const readings = this.#readingsOf(matter.route);
    const { all, alike } = readings ?? { all: [matter.route], alike: [] };
    return this.#rules.map((rule) => {
      const answers = [...all, ...(rule.restricts ? alike : [])].map((route) =>
        answerTo(rule, { ...matter, route }),
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
    return this.#rules.some(({ config }) => config.effect === "hide");
  }

  #undecidedFor(matter: Matter): readonly Rule[] {
    const rules = this.#about(matter.on, matter.route);
    if (rules.length === 0) return rules;
    let known = this.#undecided.get(rules);
    if (known === undefined) {
      known = new WeakMap();
      this.#undecided.set(rules, known);
    }
    const { principal } = matter.client;
    let undecided = known.get(principal);
    if (undecided === undefined) {
      const facts = factsOf(matter);
      undecided = rules.filter(
        ({ subject, when }) => subject.isAbout(principal) && when?.isRuledOut(facts) !== true,
      );
      known.set(principal, undecided);
    }
    return undecided;
  }

  #about(on: JudgedKind, route: Route): readonly Rule[] {
    let known = this.#covering.get(on);
    if (known === undefined) {
      known = new WeakMap();
      this.#covering.set(on, known);
    }
    let rules = known.get(route);
    if (rules === undefined) {
      rules = this.#rules.filter(
        ({ config, subject, restricts }) => config.on === on && subject.covers(route, restricts),
      );
      known.set(route, rules);
    }
    return rules;
  }
}

function answerTo({ config, subject, restricts, when }: Rule, matter: Matter): Finding["answer"] {
  if (config.on !== matter.on) return "other kind";
  if (!subject.covers(matter.route, restricts)) return "other target";
  if (!subject.isAbout(matter.client.principal)) return "other principal";
  return when?.ask(factsOf(matter)) ?? "yes";
}

const hangsOnUri = ({ subject, when }: Rule): boolean =>
  subject.namesUris || when?.uses.has("target") === true;
const TOO_MANY_READINGS = "its URI can be read in more ways than can be judged";

/** The decision that takes most away, with what the others redact. */
function strictest(decisions: readonly Decision[]): Decision {
  const [first, ...others] = [...decisions].sort((a, b) => strictness(b) - strictness(a));
  if (first === undefined) throw new TypeError("a URI has at least one reading");
  const redacting = new Set(
    others.flatMap(({ rule }) => (rule !== undefined && redacts(rule) ? [rule] : [])),
  );
  if (first.rule !== undefined && redacts(first.rule)) redacting.delete(first.rule);
  return redacting.size === 0 ? first : { ...first, redacting: [...redacting] };
}

const EFFECTS: readonly RuleConfig["effect"][] = ["allow", "redact", "approve", "deny", "hide"];

/** Of two that allow, the one whose rule bounds what a server may ask is stricter. */
const strictness = ({ effect, rule }: Decision): number =>
  EFFECTS.indexOf(effect) * 2 + (rule === undefined ? 0 : 1);

const LET: Decision = { effect: "allow" };

const askedOf = ({ when }: Rule, matter: Matter): Answer => when?.ask(factsOf(matter)) ?? "yes";
const usesArgs = ({ when }: Rule): boolean => when?.uses.has("args") === true;
const UNKNOWN: Answer = { failed: "nobody knows on account of which call, and so of which arguments" };

/** The principal as a token would show it that grants these scopes too. */
const granted = (principal: Principal, scopes: readonly string[]): Principal => ({
  ...principal,
  claims: { ...principal.claims, scope: [...scopesOf(principal), ...scopes].join(" ") },
});

/**
 * The arguments as rules see them: those of a tool or prompt, an object; and those of a method that MCP does not define,
 * which may be anything. In what is completed or read a member of that name means nothing to a server.
 */
export function argsOf({ method, params }: Pick<Call, "method" | "params">): unknown {
  const hasNone = PARAMS.get(method)?.names.has("arguments") === false;
  return hasNone || params.arguments === undefined ? {} : params.arguments;
}

function factsOf({ route, client, args, request }: Matter): Facts {
  const name = judgedName(route);
  return {
    tool: route.kind === "tools" ? name : "",
    server: route.upstream,
    target: name,
    args: args ?? {},
    principal: client.principal,
    annotations: objectAt(route.item, "annotations") ?? {},
    request: request ?? {},
  };
}
