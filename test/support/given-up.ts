/** Waits until the caller cancels. */
import type { StopSignal } from "../../src/core/stop.js";

/** Resolves when `signal` is aborted. */
export function givenUp(signal: StopSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}
