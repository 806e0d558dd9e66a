/** Bounded waits: what a promise comes to in time, and what happens to the one that is late. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { withTimeout } from "../../src/core/stop.js";

describe("withTimeout", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("resolves to the value that comes in time, and leaves no timer behind", async () => {
    expect(await withTimeout(1_000, Promise.resolve(7))).toBe(7);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("resolves to undefined after the time-out, and drops the rejection that comes later", async () => {
    let reject = (_: Error): void => {};
    const promise = new Promise<number>((_, rejectLater) => {
      reject = rejectLater;
    });
    const outcome = withTimeout(1_000, promise);
    await vi.advanceTimersByTimeAsync(1_000);
    reject(new Error("too late"));
    expect(await outcome).toBeUndefined();
  });

  test("rejects as the promise does in time", async () => {
    await expect(withTimeout(1_000, Promise.reject(new Error("refused")))).rejects.toThrow("refused");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a time-out of 0 or less waits for no event: only a promise that is settled already counts", async () => {
    expect(await withTimeout(0, new Promise<number>(() => {}))).toBeUndefined();
    expect(await withTimeout(-5, Promise.resolve(7))).toBe(7);
    expect(vi.getTimerCount()).toBe(0);
  });
});
