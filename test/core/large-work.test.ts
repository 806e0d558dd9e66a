/** Large messages wait for each other, and small ones do not wait for all of them. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { inTurn, myTurn } from "../../src/core/large-work.js";

test("of pieces that come together one is done in each turn of the event loop, in the order in which they came", async () => {
  const done: string[] = [];
  for (const name of ["a", "b", "c"]) inTurn(() => done.push(name));
  expect(done).toEqual([]);
  for (let turns = 1; done.length < 3; turns += 1) {
    const before = done.length;
    await turn();
    expect(done.length - before).toBeLessThanOrEqual(1);
    expect(turns).toBeLessThan(50);
  }
  expect(done).toEqual(["a", "b", "c"]);
});

test("after a piece that took long others get time before the next one", async () => {
  const done: string[] = [];
  const longPiece = (name: string) => async () => {
    await myTurn();
    const end = performance.now() + 40;
    while (performance.now() < end);
    done.push(name);
  };
  const rests: number[] = [];
  const later = globalThis.setTimeout;
  const spy = vi.spyOn(globalThis, "setTimeout").mockImplementation(((then: () => void, ms: number) => {
    rests.push(ms);
    // Whoever comes in this time is served before the second piece, however short it may be.
    return later(() => {
      done.push("others");
      then();
    }, 1);
  }) as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
  await Promise.all([longPiece("first")(), longPiece("second")()]);
  expect(done).toEqual(["first", "others", "second"]);
  // A quarter of what the first took.
  expect(rests).toEqual([expect.any(Number)]);
  expect(rests[0]).toBeGreaterThanOrEqual(10);
});
