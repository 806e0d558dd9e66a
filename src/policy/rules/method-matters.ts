/** What is judged of a call of a method that has no target: the method itself, and everything that it names. */
import type { Call, Route } from "../../core/call.js";
import { myTurn } from "../../core/large-work.js";
import { isObject, type JsonObject, objectAt, without } from "../../wire/json.js";
import { type Budget, type Decision, type Matter, type RuleBook, STEPS_AT_ONCE } from "./rule-book.js";

/** How many objects of one call are taken for arguments; where there are more, nobody knows the arguments. */
const MOST_READINGS = 64;
/** The same for all things that one call names together. */
const MOST_MATTERS = 1_024;

/** The decisions about one call, which count together. */
export interface MethodDecision {
  /** The strictest of them. */
  readonly decision: Decision;
  /** What it is about. */
  readonly matter: Matter;
  /** All of them, as each may let it through without something. */
  readonly redacting: readonly Decision[];
}

/** From the mildest to the strictest. */
const STRICTNESS = ["allow", "redact", "approve", "deny", "hide"] as const;

/** What the rules say to a call of such a method. */
export function judgeMethod(book: Pick<RuleBook, "judge">, call: Call, route: Route): MethodDecision {
  const steps = judging(book, call, route);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same; where a call names so much that it takes long, others get their turn in between. */
export async function judgeMethodInTurns(
  book: Pick<RuleBook, "judge">,
  call: Call,
  route: Route,
): Promise<MethodDecision> {
  const steps = judging(book, call, route);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await myTurn();
  }
}

/** So many characters of names are judged in one turn; each may have 64 readings, so that this takes some 10 ms at most. */
const CHARACTERS_IN_A_TURN = 8_192;

function* judging(
  book: Pick<RuleBook, "judge">,
  call: Call,
  route: Route,
): Generator<void, MethodDecision, void> {
  const [first, ...others] = mattersOf(call, route);
  // What conditions may take, they may take together.
  const budget: Budget = { steps: STEPS_AT_ONCE };
  let matter = first;
  let decision = book.judge(first, budget);
  const decisions = [decision];
  let characters = 0;
  for (const other of others) {
    characters += other.route.exposed.length;
    if (characters > CHARACTERS_IN_A_TURN) {
      characters = 0;
      yield;
    }
    const next = book.judge(other, budget);
    decisions.push(next);
    if (STRICTNESS.indexOf(next.effect) > STRICTNESS.indexOf(decision.effect)) {
      decision = next;
      matter = other;
    }
  }
  return { decision, matter, redacting: decisions };
}

/**
 * The method is judged with all its parameters as arguments. What a server does with them is its own affair, so a tool
 * that they name is judged with each object among them as its arguments.
 */
export function mattersOf(call: Call, route: Route): readonly [Matter, ...Matter[]] {
  const { client, params } = call;
  const args = paramsSeen(params);
  const first: Matter = { on: "call", route, client, args };
  if (route.named === undefined) return [first];
  const found = readingsOf(params, args);
  const readings = (found?.length ?? 0) * route.named.length > MOST_MATTERS ? undefined : found;
  const others = route.named.flatMap(({ route: named, surely }) => {
    const about: Matter = { on: "call", route: named, client, ...(!surely && { byName: true }) };
    return readings === undefined
      ? [about]
      : readings.map((reading): Matter => ({ ...about, args: reading }));
  });
  return [first, ...others];
}

/** The parameters of such a method as rules see them, as `args`. */
export const paramsSeen = (params: JsonObject): JsonObject => without(params, ["_meta"]);

/** Whatever may be meant as the arguments of a tool; undefined where that is too much to tell. */
function readingsOf(params: JsonObject, seen: JsonObject): readonly JsonObject[] | undefined {
  const found: JsonObject[] = [objectAt(params, "arguments") ?? {}];
  const open: unknown[] = [seen];
  while (open.length > 0) {
    const next = open.pop();
    if (Array.isArray(next)) for (const item of next) open.push(item);
    if (!isObject(next)) continue;
    found.push(next);
    if (found.length > MOST_READINGS) return undefined;
    for (const value of Object.values(next)) if (typeof value === "object") open.push(value);
  }
  return found;
}
