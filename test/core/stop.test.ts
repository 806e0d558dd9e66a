/** Cancelling, and bounded waits: what a promise comes to in time, and what happens to the one that is late. */

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Stop, withTimeout } from "../../src/core/stop.js";

test("calls each listener once, in order, with the reason", () => {
  const stop = new Stop();
  const told: string[] = [];
  stop.signal.addEventListener("abort", () => told.push(`first, ${String(stop.signal.reason)}`));
  stop.signal.addEventListener("abort", () => told.push("second"));
  expect(stop.signal.aborted).toBe(false);

  stop.abort("enough");
  stop.abort("again");

  expect(told).toEqual(["first, enough", "second"]);
  expect(stop.signal).toMatchObject({ aborted: true, reason: "enough" });
});

test("a listener counts once however often it is added, and not at all when it was taken away or came too late", () => {
  const stop = new Stop();
  const [twice, gone, late] = [vi.fn(), vi.fn(), vi.fn()];
  for (const listener of [twice, gone, twice])
    stop.signal.addEventListener("abort", listener, { once: true });
  stop.signal.removeEventListener("abort", gone);

  stop.abort();
  stop.signal.addEventListener("abort", late);

  expect([twice, gone, late].map((listener) => listener.mock.calls.length)).toEqual([1, 0, 0]);
});

test("a listener that another one removes during the abort is not called", () => {
  const stop = new Stop();
  const second = vi.fn();
  stop.signal.addEventListener("abort", () => stop.signal.removeEventListener("abort", second));
  stop.signal.addEventListener("abort", second);
  stop.abort();
  expect(second).not.toHaveBeenCalled();
});

test("a listener that throws affects neither the others nor the caller of abort", () => {
  const later = vi.spyOn(process, "nextTick").mockImplementation(() => undefined);
  const stop = new Stop();
  const second = vi.fn();
  stop.signal.addEventListener("abort", () => {
    throw new Error("broken");
  });
  stop.signal.addEventListener("abort", second);

  stop.abort();

  expect(second).toHaveBeenCalledOnce();
  // The error is not swallowed: it is thrown where no other code depends on it.
  expect(later.mock.calls[0]?.[0]).toThrow("broken");
  later.mockRestore();
});

test("without a reason there is an error to show", () => {
  const stop = new Stop();
  stop.abort();
  expect(stop.signal.reason).toBeInstanceOf(Error);
});

describe("withTimeout", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("resolves to a timely value, and leaves no timer", async () => {
    expect(await withTimeout(1_000, Promise.resolve(7))).toBe(7);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("resolves to undefined after the timeout, and drops a later rejection", async () => {
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

  test("a timeout of 0 or less waits for no event: only an already settled promise counts", async () => {
    expect(await withTimeout(0, new Promise<number>(() => {}))).toBeUndefined();
    expect(await withTimeout(-5, Promise.resolve(7))).toBe(7);
    expect(vi.getTimerCount()).toBe(0);
  });
});
