/** Fake timers for tests, and the two ways to let time continue. */
import { afterEach, beforeEach, vi } from "vitest";

/** Each test of the file that calls this has fake timers. */
export function fakeTime(): void {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}

/** Lets everything happen that is due now. */
export const settle = () => vi.advanceTimersByTimeAsync(0);
/** Lets this time pass (ms). */
export const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
