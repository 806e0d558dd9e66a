/** Notices when the event loop stood still: somebody computed for long, or the process was stopped. */

/** How often it looks, in ms. */
const SAMPLE_MS = 250;
/** So late (ms) is not lateness any more, but a stall. */
const STALL_MS = 1_000;

/** Tells of each stall and how long it was (ms, to a quarter of a second), until the returned function is called. */
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
