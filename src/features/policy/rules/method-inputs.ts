/** What do rules evaluate of a method without a target? The method itself, and every target that it names. */
import type { Call, Route } from "../../../core/call.js";
import { runSteps, type Steps } from "../../../runtime/cooperative-yield.js";
import { isObject, type JsonObject, objectAt, without } from "../../../wire/json.js";
import type { Decision, PolicyInput } from "./policy-input.js";
import type { RuleSet } from "./rule-set.js";
import { MAX_STEPS_TOGETHER, type WorkBudget } from "./work-budget.js";

/** The most objects of one call that are taken for arguments; with more the arguments are unknown. */
const MAX_READINGS = 64;
/** The same for all things that one call names together. */
const MAX_INPUTS = 1_024;

/** The decisions about one call, which count together. */
export interface MethodDecision {
  /** The strictest of them. */
  readonly decision: Decision;
  /** What it is about. */
  readonly input: PolicyInput;
  /** All of them, as each may let it through without something. */
  readonly redacting: readonly Decision[];
}

/** From the mildest to the strictest. */
const STRICTNESS = ["allow", "redact", "approve", "deny", "hide"] as const;

/** The decision for a call of such a method. */
export function evaluateMethod(ruleSet: Pick<RuleSet, "evaluate">, call: Call, route: Route): MethodDecision {
  const steps = evaluationSteps(ruleSet, call, route);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same; yields to the event loop where a call names many targets. */
export const evaluateMethodYielding = (
  ruleSet: Pick<RuleSet, "evaluate">,
  call: Call,
  route: Route,
): Promise<MethodDecision> => runSteps(evaluationSteps(ruleSet, call, route));

/** Characters of names per slice; each name may have 64 readings, so a slice takes at most about 10 ms. */
const CHARACTERS_PER_SLICE = 8_192;

function* evaluationSteps(
  ruleSet: Pick<RuleSet, "evaluate">,
  call: Call,
  route: Route,
): Steps<MethodDecision> {
  const [first, ...others] = policyInputsOf(call, route);
  // What conditions may take, they may take together.
  const budget: WorkBudget = { steps: MAX_STEPS_TOGETHER };
  let input = first;
  let decision = ruleSet.evaluate(first, budget);
  const decisions = [decision];
  let characters = 0;
  for (const other of others) {
    characters += other.route.exposed.length;
    if (characters > CHARACTERS_PER_SLICE) {
      characters = 0;
      yield;
    }
    const next = ruleSet.evaluate(other, budget);
    decisions.push(next);
    if (STRICTNESS.indexOf(next.effect) > STRICTNESS.indexOf(decision.effect)) {
      decision = next;
      input = other;
    }
  }
  return { decision, input, redacting: decisions };
}

/**
 * The method is evaluated with all its parameters as arguments. A server may use them in any way, so a tool
 * that they name is evaluated with each object among them as its arguments.
 */
export function policyInputsOf(call: Call, route: Route): readonly [PolicyInput, ...PolicyInput[]] {
  const { client, params } = call;
  const args = methodArguments(params);
  const first: PolicyInput = { on: "call", route, client, args };
  if (route.namedTargets === undefined) return [first];
  const found = readingsOf(params, args);
  const readings = (found?.length ?? 0) * route.namedTargets.length > MAX_INPUTS ? undefined : found;
  const others = route.namedTargets.flatMap(({ route: named, surely }) => {
    const about: PolicyInput = {
      on: "call",
      route: named,
      client,
      ...(!surely && { onlyNamedTargets: true }),
    };
    return readings === undefined
      ? [about]
      : readings.map((reading): PolicyInput => ({ ...about, args: reading }));
  });
  return [first, ...others];
}

/** The parameters of such a method as rules see them, as `args`. */
export const methodArguments = (params: JsonObject): JsonObject => without(params, ["_meta"]);

/** The objects that may be the arguments of a tool; undefined where there are too many. */
function readingsOf(params: JsonObject, seen: JsonObject): readonly JsonObject[] | undefined {
  const found: JsonObject[] = [objectAt(params, "arguments") ?? {}];
  const open: unknown[] = [seen];
  while (open.length > 0) {
    const next = open.pop();
    if (Array.isArray(next)) for (const item of next) open.push(item);
    if (!isObject(next)) continue;
    found.push(next);
    if (found.length > MAX_READINGS) return undefined;
    for (const value of Object.values(next)) if (typeof value === "object") open.push(value);
  }
  return found;
}
