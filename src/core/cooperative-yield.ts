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
