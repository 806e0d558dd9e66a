/** Lets time pass at once for everything that asks the monotonic clock, libraries that keep things for a time included. */
import { onTestFinished, vi } from "vitest";

/** `ms` milliseconds, until the test is over. Timers continue unchanged. */
export function turnTheClock(ms: number): void {
  const now = performance.now.bind(performance);
  const spy = vi.spyOn(performance, "now").mockImplementation(() => now() + ms);
  onTestFinished(() => spy.mockRestore());
}
