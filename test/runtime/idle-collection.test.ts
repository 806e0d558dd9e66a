/** What a gateway gives back when it has nothing to do, and when. */
import { getHeapSpaceStatistics } from "node:v8";
import { afterEach, expect, test, vi } from "vitest";
import { SILENT } from "../../src/core/logger.js";
import { collectWhenIdle, V8_COLLECTOR } from "../../src/runtime/idle-collection.js";

const MIB = 1024 * 1024;

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A process that looks at itself when `look` says how busy it was (0 to 1) since it last did. */
function watched(major = vi.fn(async () => {}), isUnused = () => true) {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  let utilization = 1;
  vi.spyOn(performance, "eventLoopUtilization").mockImplementation(() => ({
    utilization,
    idle: 0,
    active: 0,
  }));
  const room = { young: MIB };
  const minor = vi.fn(() => {});
  const debug = vi.fn();
  const stop = collectWhenIdle({ ...SILENT, debug }, isUnused, {
    major,
    minor,
    youngSpaceBytes: () => room.young,
  });
  const look = (busy: number, times = 1) => {
    utilization = busy;
    vi.advanceTimersByTime(500 * times);
  };
  return { all: major, young: minor, room, debug, stop, look };
}

test("all memory is given back once, when the process has nothing to do for the first time", () => {
  const { all, young, look } = watched();
  look(0.9);
  look(0.2);
  expect(all).not.toHaveBeenCalled();
  look(0.01);
  expect(all).toHaveBeenCalledOnce();
  look(0.01, 100);
  expect(all).toHaveBeenCalledOnce();
  expect(young).not.toHaveBeenCalled();
});

test("where calls came before there was time for it, all memory is given back after half a minute of rest", () => {
  const { all, room, young, look } = watched(undefined, () => false);
  room.young = 32 * MIB;
  look(1);
  look(0, 59);
  look(1);
  look(0, 59);
  expect(all).not.toHaveBeenCalled();
  expect(young).toHaveBeenCalled();
  look(0);
  expect(all).toHaveBeenCalledOnce();
  look(0, 1000);
  expect(all).toHaveBeenCalledOnce();
});

test("the room for young objects is given back whenever the process comes to rest", () => {
  const { all, young, room, look } = watched();
  look(0);
  room.young = 32 * MIB;
  look(1, 20);
  expect(young).not.toHaveBeenCalled();
  look(0, 3);
  expect(young).not.toHaveBeenCalled();
  look(0);
  expect(young).toHaveBeenCalledOnce();
  look(0, 11);
  expect(young).toHaveBeenCalledOnce();
  // V8 makes it smaller at the second of two, between which next to nothing was made.
  look(0);
  expect(young).toHaveBeenCalledTimes(2);
  room.young = MIB;
  look(0, 100);
  expect(young).toHaveBeenCalledTimes(2);
  expect(all).toHaveBeenCalledOnce();
});

test("an interrupted idle period starts again", () => {
  const { young, room, look } = watched();
  look(0);
  room.young = 32 * MIB;
  look(0, 4 + 11);
  expect(young).toHaveBeenCalledOnce();
  look(1);
  look(0, 3);
  expect(young).toHaveBeenCalledOnce();
  look(0);
  expect(young).toHaveBeenCalledTimes(2);
});

test("a process with a little work every second runs no collection", () => {
  const { young, room, look } = watched();
  look(0);
  room.young = 32 * MIB;
  for (let second = 0; second < 60; second += 1) {
    look(0.5);
    look(0);
  }
  expect(young).not.toHaveBeenCalled();
});

test("a process that exits stops checking", () => {
  const { stop } = watched();
  stop();
  expect(vi.getTimerCount()).toBe(0);
});

test("the gateway continues if it is not possible", async () => {
  const error = new Error("built without an inspector");
  const { look, debug } = watched(vi.fn(() => Promise.reject(error)));
  look(0);
  await vi.waitFor(
    () => expect(debug).toHaveBeenCalledWith({ error }, "the idle garbage collection failed"),
    {
      timeout: 60_000,
    },
  );
});

test("when all is collected, the room for young objects shrinks to what they need", async () => {
  makeRoom();
  await V8_COLLECTOR.major();
  expect(V8_COLLECTOR.youngSpaceBytes()).toBeLessThan(4 * MIB);
});

test("the young generation can be collected alone, without exposing gc() to other code", () => {
  makeRoom();
  const kept = Array.from({ length: 1000 }, (_, i) => ({ i }));
  // The second one promotes what others in this process have kept through the first.
  V8_COLLECTOR.minor();
  V8_COLLECTOR.minor();
  expect(youngBytes()).toBeLessThan(MIB);
  expect(kept.at(-1)).toEqual({ i: 999 });
  expect(globalThis.gc).toBeUndefined();
});

/** Until V8 has found that young objects need more of it. */
function makeRoom(): void {
  const kept: object[] = [];
  while (V8_COLLECTOR.youngSpaceBytes() < 8 * MIB) for (let i = 0; i < 10_000; i += 1) kept.push({ i });
  kept.length = 0;
}

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_used_size ?? 0;
