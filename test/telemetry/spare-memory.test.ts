/** What a gateway gives back once it has started, and when. */
import { getHeapSpaceStatistics } from "node:v8";
import { afterEach, expect, test, vi } from "vitest";
import { SILENT } from "../../src/core/logger.js";
import { collectGarbage, giveBackAfterStart } from "../../src/telemetry/spare-memory.js";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A process that looks at itself when `look` says how busy it was (0 to 1) since it last did. */
function watched(collect: () => Promise<void>) {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  let utilization = 1;
  vi.spyOn(performance, "eventLoopUtilization").mockImplementation(() => ({
    utilization,
    idle: 0,
    active: 0,
  }));
  const debug = vi.fn();
  const stop = giveBackAfterStart({ ...SILENT, debug }, collect);
  return {
    debug,
    stop,
    look(busy: number) {
      utilization = busy;
      vi.advanceTimersByTime(500);
    },
  };
}

test("memory is given back once, when the process has nothing to do for the first time", () => {
  const collect = vi.fn(async () => {});
  const { look } = watched(collect);
  look(0.9);
  look(0.2);
  expect(collect).not.toHaveBeenCalled();
  look(0.01);
  expect(collect).toHaveBeenCalledOnce();
  look(0.01);
  expect(collect).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(0);
});

test("a process that ends before that waits for nothing", () => {
  const { stop } = watched(async () => {});
  stop();
  expect(vi.getTimerCount()).toBe(0);
});

test("where it cannot be done the gateway goes on", async () => {
  const error = new Error("built without an inspector");
  const { look, debug } = watched(() => Promise.reject(error));
  look(0);
  await vi.waitFor(() => expect(debug).toHaveBeenCalledWith({ error }, "memory could not be given back"), {
    timeout: 30_000,
  });
});

test("the room for young objects shrinks to what they need", async () => {
  const kept: object[] = [];
  while (youngBytes() < 8 * 1024 * 1024) for (let i = 0; i < 10_000; i += 1) kept.push({ i });
  kept.length = 0;
  await collectGarbage();
  expect(youngBytes()).toBeLessThan(4 * 1024 * 1024);
});

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_size ?? 0;
