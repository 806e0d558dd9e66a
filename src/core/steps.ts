/** Work on one message that stops now and then, so that others get their turn. */
import { cooperativeYield, runSteps, type Steps } from "./cooperative-yield.js";

/** About 2 ms, in characters searched. */
const TURN = 32_768;
/** As much as may be done at once of what cannot wait: about 16 ms. */
const MOST_TURNS_AT_ONCE = 8;

/** What was done since others had their turn, in characters searched. */
export class Work {
  #spent = 0;

  /** Counts work, and stops where that makes a turn. Called as `yield*`. */
  *spend(work: number): Steps<void> {
    if (this.isTurn(work)) yield;
  }

  /** The same without a generator, for short pieces of work: where it is true the caller has to `yield`. */
  isTurn(work: number): boolean {
    this.#spent += work;
    if (this.#spent < TURN) return false;
    this.#spent = 0;
    return true;
  }
}

/** Goes through the first step at once, and through the others in turns; a promise only where there are any. */
export function nowOrInTurns<Value>(steps: Steps<Value>): Value | Promise<Value> {
  const step = steps.next();
  return step.done === true ? step.value : cooperativeYield().then(() => runSteps(steps));
}

/** Goes through all steps at once; undefined where there are too many for that. */
export function atOnce<Value>(steps: Steps<Value>): Value | undefined {
  for (let turns = 0; turns < MOST_TURNS_AT_ONCE; turns++) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
  return undefined;
}
