/** Responses of one turn of the event loop. */
import { expect, test } from "vitest";
import { batchCompletion } from "../../../src/upstream/transport/http-request.js";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("responses that end in one turn are delivered together, in order, at its end", async () => {
  const ended: string[] = [];
  for (const name of ["one", "two", "three"]) {
    batchCompletion({
      end: () => {
        ended.push(name);
        queueMicrotask(() => ended.push(`after ${name}`));
      },
    });
  }
  expect(ended).toEqual([]);
  await turn();
  expect(ended).toEqual(["one", "two", "three", "after one", "after two", "after three"]);
});

test("completions beyond the batch limit run at once, and none is lost", async () => {
  const ended: number[] = [];
  for (let n = 0; n < 20; n += 1) batchCompletion({ end: () => ended.push(n) });
  expect(ended).toEqual([16, 17, 18, 19]);
  await turn();
  expect(ended.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
});

test("a response that ends during a delivery is delivered too", async () => {
  const ended: string[] = [];
  batchCompletion({
    end: () => {
      ended.push("first");
      batchCompletion({ end: () => ended.push("second") });
    },
  });
  await turn();
  await turn();
  expect(ended).toEqual(["first", "second"]);
});
