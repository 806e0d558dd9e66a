/** Was the event loop blocked, by long synchronous work or because the process was stopped? */

/** The sampling interval, in ms. */
const SAMPLE_MS = 250;
/** A sample that is this late (ms) counts as a stall. */
const STALL_MS = 1_000;

/** Calls `stalled` with the duration (ms, to 250 ms) of each stall, until the returned function is called. */
export function watchStalls(stalled: (ms: number) => void): () => void {
  let due = performance.now() + SAMPLE_MS;
  const timer = setInterval(() => {
    const late = performance.now() - due;
    if (late >= STALL_MS) stalled(Math.round(late));
    due = performance.now() + SAMPLE_MS;
  }, SAMPLE_MS);
  timer.unref();
  return () => clearInterval(timer);
}
