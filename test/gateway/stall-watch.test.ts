/** Stalls of the event loop, detected by its timers. */
import { afterEach, expect, test, vi } from "vitest";
import { watchStalls } from "../../src/gateway/overload.js";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("a timer that fires two seconds late is logged as a stall with its duration; a busy moment is not", () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const heard: number[] = [];
  const stop = watchStalls((ms) => heard.push(ms));
  const tick = (lateMs: number): void => {
    now += 250 + lateMs;
    vi.advanceTimersByTime(250);
  };
  tick(0);
  tick(400);
  tick(2_000);
  tick(0);
  expect(heard).toEqual([2_000]);
  stop();
  expect(vi.getTimerCount()).toBe(0);
});
