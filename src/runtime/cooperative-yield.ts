/**
 * Cooperative yields for work on large messages: one step in each turn of the event loop, so that small messages are
 * served between two steps. Twenty answers of 32 MiB that arrive together would otherwise stop all calls for a second.
 */

/** The size of a large message, in bytes. To read 64 KiB takes about 0.5 ms, and many may arrive in one turn. */
export const LARGE_BYTES = 64 * 1024;

/** A piece that took this long (ms) is followed by a rest of so much of its time, in which others get their answers. */
const SLOW_PIECE_MS = 8;
const PAUSE_SHARE = 1 / 4;

const queue: (() => void)[] = [];

/** Does `work` in a later turn of the event loop, and in no turn more than one piece. */
export function scheduleStep(work: () => void): void {
  queue.push(work);
  if (queue.length === 1) setImmediate(runNext);
}

/** Resolves when it is time for a piece of such work; what is done at once counts as that piece. */
export const cooperativeYield = (): Promise<void> => new Promise(scheduleStep);

function runNext(): void {
  const begun = performance.now();
  // By the next turn everything is done that waited for this, and others were heard.
  setImmediate(() => {
    queue.shift();
    if (queue.length === 0) return;
    const took = performance.now() - begun;
    if (took < SLOW_PIECE_MS) runNext();
    else setTimeout(runNext, took * PAUSE_SHARE);
  });
  queue[0]?.();
}

/** Work that yields where other calls should be served. */
export type Steps<Value> = Generator<void, Value, void>;

/** Runs all steps, each in a turn of the event loop of its own; the first at once. */
export async function runSteps<Value>(steps: Steps<Value>): Promise<Value> {
  let step = steps.next();
  while (step.done !== true) {
    await cooperativeYield();
    step = steps.next();
  }
  return step.value;
}

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
