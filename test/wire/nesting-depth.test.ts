import { expect, test } from "vitest";
import { exceedsDepth } from "../../src/wire/json-scan.js";
import fc from "../support/fast-check.js";
import { stepsOf } from "../support/steps.js";

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test("64 levels are taken and 65 are not", () => {
  expect(exceedsDepth(nested(64))).toBe(false);
  expect(exceedsDepth(nested(65))).toBe(true);
  expect(exceedsDepth(`${'{"a":'.repeat(65)}1${"}".repeat(65)}`)).toBe(true);
});

test("brackets in strings do not count, escaped quotes and backslashes included", () => {
  const brackets = "[{".repeat(200);
  for (const text of [brackets, `"${brackets}`, `\\${brackets}`, `\\"${brackets}`, `${brackets}\\`]) {
    expect(exceedsDepth(JSON.stringify({ text, more: text }))).toBe(false);
  }
});

test("siblings do not add up", () => {
  expect(exceedsDepth(JSON.stringify(Array.from({ length: 1000 }, () => [[1], { a: [] }])))).toBe(false);
});

test("a string without end, or nothing but backslashes, is passed once", () => {
  // Enough arrays that counting brackets does not suffice.
  const arrays = "[],".repeat(100);
  for (const text of [`${arrays}"${"\\".repeat(2_000_000)}`, `${arrays}${'"\\"'.repeat(500_000)}`]) {
    const steps = stepsOf(() => expect(exceedsDepth(text)).toBe(false));
    expect(steps).toBeLessThan(8 * text.length);
  }
});

test("it agrees with the parsed value", () => {
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 8 }),
      fc.integer({ min: 0, max: 8 }),
      fc.boolean(),
      (json, limit, spaced) => {
        const value: unknown = JSON.parse(json);
        const text = spaced ? JSON.stringify(value, null, 2) : json;
        expect(exceedsDepth(text, limit)).toBe(depthOf(value) > limit);
      },
    ),
    { numRuns: 1000 },
  );
});
