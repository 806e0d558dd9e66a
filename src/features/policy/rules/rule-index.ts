/** Which rules are there to ask about a route and a principal? Each is looked for once. */
import type { Route } from "../../../core/call.js";
import type { Principal } from "../../../core/client.js";
import type { InteractionKind } from "../config.js";
import { factsOf, type PolicyInput, type RouteReadings, readingsOfRoute } from "./policy-input.js";
import type { Rule } from "./rule.js";

/** The rules of one config. */
export class RuleIndex {
  readonly #rules: readonly Rule[];
  readonly #readsUris: boolean;
  /** Routes live as long as the list they stand in, so their rules are looked for once per list. */
  readonly #byRoute = new Map<InteractionKind, WeakMap<Route, readonly Rule[]>>();
  /** Of those, the ones that may still decide for a principal, by its object. */
  readonly #undecided = new WeakMap<readonly Rule[], WeakMap<Principal, readonly Rule[]>>();

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
    this.#readsUris = rules.some(dependsOnUri);
  }

  /** The readings by which it is evaluated; undefined where there is one. */
  readingsOf(route: Route): RouteReadings | undefined {
    return this.#readsUris || route.unambiguousName !== undefined ? readingsOfRoute(route) : undefined;
  }

  /** Whether some rule may decide by the URI of a call. */
  mayDependOnUri({ on, route, client }: PolicyInput): boolean {
    return this.#rules.some(
      (rule) =>
        rule.config.on === on &&
        dependsOnUri(rule) &&
        rule.matcher.matchesIgnoringName(route) &&
        rule.matcher.matchesPrincipal(client.principal),
    );
  }

  /** The rules that may decide about the input, without those that decide for no call of its principal. */
  undecidedFor(input: PolicyInput): readonly Rule[] {
    const rules = this.rulesFor(input.on, input.route);
    if (rules.length === 0) return rules;
    let known = this.#undecided.get(rules);
    if (known === undefined) {
      known = new WeakMap();
      this.#undecided.set(rules, known);
    }
    const { principal } = input.client;
    let undecided = known.get(principal);
    if (undecided === undefined) {
      const facts = factsOf(input);
      undecided = rules.filter(
        ({ matcher, when }) => matcher.matchesPrincipal(principal) && when?.isRuledOut(facts) !== true,
      );
      known.set(principal, undecided);
    }
    return undecided;
  }

  /** The rules about a route, in the order of the config. */
  rulesFor(on: InteractionKind, route: Route): readonly Rule[] {
    let known = this.#byRoute.get(on);
    if (known === undefined) {
      known = new WeakMap();
      this.#byRoute.set(on, known);
    }
    let rules = known.get(route);
    if (rules === undefined) {
      rules = this.#rules.filter(
        ({ config, matcher, restricts }) => config.on === on && matcher.matchesRoute(route, restricts),
      );
      known.set(route, rules);
    }
    return rules;
  }
}

const dependsOnUri = ({ matcher, when }: Rule): boolean =>
  matcher.namesUris || when?.uses.has("target") === true;
