/** Large messages wait for each other, and small ones do not wait for all of them. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
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
  const all = Promise.all([longPiece("first")(), longPiece("second")()]);
  setTimeout(() => done.push("small"), 41);
  await all;
  expect(done).toEqual(["first", "small", "second"]);
});
