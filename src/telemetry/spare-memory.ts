/**
 * Gives back the memory that only the start needed. V8 keeps the room for young objects as large as it ever was, and
 * collects nothing while nothing happens, so an idle gateway would hold 20 MiB for as long as it lives.
 */
import type { Logger } from "../core/logger.js";

/** How often it looks, in ms. */
const LOOK_MS = 500;
/** The start is over when the event loop was busy for no more than this share of the time between two looks. */
const QUIET = 0.05;

/** Waits for the first quiet moment, and collects then, once. Call what it returns to wait no longer. */
export function giveBackAfterStart(
  logger: Logger,
  collect: () => Promise<void> = collectGarbage,
): () => void {
  let before = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > QUIET) return;
    clearInterval(timer);
    collect().catch((error: unknown) => logger.debug({ error }, "memory could not be given back"));
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** What DevTools does when somebody clicks on the waste bin; every other way takes a flag of V8. */
export async function collectGarbage(): Promise<void> {
  const { Session } = await import("node:inspector/promises");
  const session = new Session();
  session.connect();
  try {
    await session.post("HeapProfiler.collectGarbage");
  } finally {
    session.disconnect();
  }
}
