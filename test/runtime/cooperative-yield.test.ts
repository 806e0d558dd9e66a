/** Large messages wait for each other, and small ones do not wait for all of them. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { cooperativeYield, runSteps, scheduleStep } from "../../src/runtime/cooperative-yield.js";

/** Freezes the clock: on a busy machine no step counts as slow, and none is followed by a pause. */
function stopClock(): void {
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => clock.mockRestore());
}

test("of pieces that come together one is done in each turn of the event loop, in the order in which they came", async () => {
  stopClock();
  const done: string[] = [];
  for (const name of ["a", "b", "c"]) scheduleStep(() => done.push(name));
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
    await cooperativeYield();
    now += 40;
    // The pause is a quarter of that: a timer of 1 ms is due before its end.
    setTimeout(() => done.push(`others after ${name}`), 1);
    done.push(name);
  };
  // Nothing is left of the test before.
  await turn();
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  await Promise.all([longPiece("first")(), longPiece("second")()]);
  expect(done).toEqual(["first", "others after first", "second"]);
  // The end of the second piece is seen in a later turn, by the clock of this test.
  await turn();
  await turn();
});

test("steps of two works alternate, and other events come between two steps", async () => {
  stopClock();
  const done: string[] = [];
  function* stepsOf(name: string): Generator<void, string, void> {
    for (let step = 1; step <= 3; step++) {
      done.push(`${name}${step}`);
      yield;
    }
    return name;
  }
  const both = Promise.all([runSteps(stepsOf("a")), runSteps(stepsOf("b"))]);
  expect(done).toEqual(["a1", "b1"]);
  for (let turns = 0; done.length < 6; turns++) {
    const before = done.length;
    await turn();
    expect(done.length - before).toBeLessThanOrEqual(1);
    expect(turns).toBeLessThan(50);
  }
  expect(done).toEqual(["a1", "b1", "a2", "b2", "a3", "b3"]);
  expect(await both).toEqual(["a", "b"]);
});
