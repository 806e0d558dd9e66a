/** Which rounds are paid for? A call that resumes a round is the same call and is not counted again. */
import { LRUCache } from "lru-cache";
import type { Call, Route } from "../../core/call.js";
import { entryLimit } from "../../runtime/cache-limits.js";
import { canonicalDigest } from "../../runtime/canonical-digest.js";
import { methodArguments } from "../rules/method-inputs.js";
import { argsOf } from "../rules/policy-input.js";

const MAX_CALLS = 10_000;

/**
 * A client's claim that a call is a later round is checked: each round that ended in a question is good
 * for one call with answers, of the same principal to the same target with the same arguments.
 */
export class PaidRounds {
  /** Until evicted; the seal of the round state limits how long an answer is valid. */
  readonly #rounds = new LRUCache<string, number>(entryLimit(MAX_CALLS));

  async grant(call: Call, route: Route): Promise<void> {
    const key = await keyOf(call, route);
    this.#rounds.set(key, (this.#rounds.get(key) ?? 0) + 1);
  }

  /** Uses up one; resolves to false when there is none. */
  async use(call: Call, route: Route): Promise<boolean> {
    const key = await keyOf(call, route);
    const left = this.#rounds.get(key);
    if (left === undefined) return false;
    if (left > 1) this.#rounds.set(key, left - 1);
    else this.#rounds.delete(key);
    return true;
  }
}

function keyOf(call: Call, route: Route): string | Promise<string> {
  const given = route.kind === "methods" ? methodArguments(call.params) : argsOf(call);
  const what = [call.client.principal.id, call.method, route.upstream, route.target];
  return canonicalDigest([...what, given ?? null]);
}
