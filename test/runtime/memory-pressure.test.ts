/** When the memory counts as short: by what is left after a collection, and not for a moment only. */
import { expect, test, vi } from "vitest";
import { SILENT } from "../../src/core/logger.js";
import { MemoryPressure, type MemoryReading } from "../../src/runtime/memory-pressure.js";
import { fakeTime } from "../support/fake-time.js";

fakeTime();

function watched() {
  const reading = { heapUsed: 10, heapLimit: 100, rss: 10, rssLimit: 1_000, collections: 0 };
  const said: string[] = [];
  const say =
    (level: string) =>
    (_fields: object, sentence: string): void => {
      said.push(`${level}: ${sentence}`);
    };
  const pressure = new MemoryPressure({
    logger: { ...SILENT, warn: say("warn"), info: say("info") },
    read: (): MemoryReading => reading,
  });
  pressure.start();
  /** The heap after a collection, and the level that comes of it. */
  const after = (heapUsed: number): number => {
    reading.heapUsed = heapUsed;
    reading.collections += 1;
    vi.advanceTimersByTime(300);
    return pressure.level;
  };
  return { pressure, reading, said, after };
}

test("each level begins at its share of the limit, and is logged once", () => {
  const { after, said } = watched();
  expect([91, 92, 94, 95, 98].map(after)).toEqual([0, 1, 1, 2, 3]);
  expect(said).toHaveLength(3);
  expect(said[0]).toBe("warn: memory pressure: new streams are refused, and connections are not kept alive");
});

test("a level lasts until there is a little more room than where it began", () => {
  const { after, said } = watched();
  expect([95, 94, 92.9, 91, 89].map(after)).toEqual([2, 2, 1, 1, 0]);
  expect(said.at(-1)).toBe("info: memory pressure is over: all requests are served");
});

test("garbage causes no refusals", () => {
  const { pressure, reading, after } = watched();
  after(50);
  reading.heapUsed = 99;
  vi.advanceTimersByTime(5_000);
  expect(pressure.level).toBe(0);
  expect(after(93)).toBe(1);
});

test("a process that fills its container is under memory pressure, whatever its heap size", () => {
  const { pressure, reading } = watched();
  reading.rss = 960;
  vi.advanceTimersByTime(300);
  expect(pressure.level).toBe(2);
});

test("the process that runs this can be measured, and the watch ends", () => {
  const pressure = new MemoryPressure({ logger: SILENT });
  pressure.start();
  expect(pressure.heapLimit).toBeGreaterThan(10_000_000);
  expect(pressure.level).toBe(0);
  pressure.stop();
  expect(vi.getTimerCount()).toBe(0);
});
