/**
 * Work on messages so large that others notice: one piece at a time, so that whoever has a small one comes in between.
 * Twenty answers of 32 MiB that come together would otherwise stop everybody for more than a second.
 */

/** From so many bytes on a message is such work: to read 1 MiB takes some 2 ms. */
export const LARGE_BYTES = 1024 * 1024;

/** A piece that took this long (ms) is followed by a rest of so much of its time, in which others get their answers. */
const LONG_MS = 8;
const REST = 1 / 4;

const waiting: (() => void)[] = [];

/** Does `work` in a later turn of the event loop, and in no turn more than one piece. */
export function inTurn(work: () => void): void {
  waiting.push(work);
  if (waiting.length === 1) setImmediate(next);
}

/** Resolves when it is time for a piece of such work; what is done at once counts as that piece. */
export const myTurn = (): Promise<void> => new Promise(inTurn);

function next(): void {
  const begun = performance.now();
  // By the next turn everything is done that waited for this, and others were heard.
  setImmediate(() => {
    waiting.shift();
    if (waiting.length === 0) return;
    const took = performance.now() - begun;
    if (took < LONG_MS) next();
    else setTimeout(next, took * REST);
  });
  waiting[0]?.();
}
