/**
 * How do large messages not block the event loop? Work on them yields: one step runs in each turn of the event loop, and
 * small messages are served between steps. Twenty results of 32 MiB at once would otherwise stop all calls for a second.
 */
import { performance } from "node:perf_hooks";
// The turns of the event loop itself, also where a test puts other timers in place of the global ones.
import { setImmediate, setTimeout } from "node:timers";

/** From this size (bytes) on a message is large. Parsing 64 KiB takes about 0.5 ms, and many may arrive in one turn. */
export const LARGE_BYTES = 64 * 1024;

/** After a step that took longer than this (ms), no step runs for PAUSE_SHARE of its duration. */
const SLOW_PIECE_MS = 8;
const PAUSE_SHARE = 1 / 4;

/** Module-wide on purpose: it schedules the event loop, and all gateways of a process share one loop. */
const queue: (() => void)[] = [];

/** Queues one step; each queued step runs in its own turn of the event loop. */
export function scheduleStep(work: () => void): void {
  queue.push(work);
  if (queue.length === 1) setImmediate(runNext);
}

/** Resolves when the next step may run; the code after the `await` is that step. */
export const cooperativeYield = (): Promise<void> => new Promise(scheduleStep);

function runNext(): void {
  const begun = performance.now();
  // By the next turn the continuations of this step have run, and pending I/O was handled.
  setImmediate(() => {
    queue.shift();
    if (queue.length === 0) return;
    const took = performance.now() - begun;
    if (took < SLOW_PIECE_MS) runNext();
    else setTimeout(runNext, took * PAUSE_SHARE);
  });
  queue[0]?.();
}

/** Work in steps: a generator that yields where other calls should be served. */
export type Steps<Value> = Generator<void, Value, void>;

/** Runs the first step at once and each other one in its own turn of the event loop. */
export async function runSteps<Value>(steps: Steps<Value>): Promise<Value> {
  let step = steps.next();
  while (step.done !== true) {
    await cooperativeYield();
    step = steps.next();
  }
  return step.value;
}

/** The work of one step, in characters searched: about 2 ms. */
const STEP_WORK = 32_768;
/** The number of steps `runAtOnce` runs: about 16 ms. */
const MAX_STEPS_AT_ONCE = 8;

/** Counts work since the last yield, in characters searched. */
export class Work {
  #spent = 0;

  /** Adds work, and yields where a step is full. Use with `yield*`. */
  *spend(work: number): Steps<void> {
    if (this.mustYield(work)) yield;
  }

  /** The same without a generator: the caller must `yield` where it returns true. */
  mustYield(work: number): boolean {
    this.#spent += work;
    if (this.#spent < STEP_WORK) return false;
    this.#spent = 0;
    return true;
  }
}

/** Runs work of one step synchronously; longer work continues in later turns, as a promise. */
export function nowOrInSteps<Value>(steps: Steps<Value>): Value | Promise<Value> {
  const step = steps.next();
  return step.done === true ? step.value : cooperativeYield().then(() => runSteps(steps));
}

/** Runs all steps synchronously; undefined if there are more than MAX_STEPS_AT_ONCE. */
export function runAtOnce<Value>(steps: Steps<Value>): Value | undefined {
  for (let at = 0; at < MAX_STEPS_AT_ONCE; at++) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
  return undefined;
}
