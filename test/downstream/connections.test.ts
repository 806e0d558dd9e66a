/** How many connections are let in for how many descriptors. */
import { expect, test } from "vitest";
import { connectionLimit } from "../../src/downstream/connections.js";

test.each([
  [256, 128],
  [1_024, 512],
  [20_000, 15_000],
  [1_048_576, 20_000],
  [Number.MAX_SAFE_INTEGER, 20_000],
  [1, 1],
])("of %d descriptors", (descriptors, connections) => {
  expect(connectionLimit(descriptors)).toBe(connections);
});

test("of those that this process has", () => {
  expect(connectionLimit()).toBeGreaterThan(0);
});
