import { expect, test } from "vitest";
import { canonicalText } from "../../src/wire/json-text.js";
import fc from "../support/fast-check.js";

/** The same value with the keys of every object in the opposite order. */
const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, inner]) => [key, reversed(inner)]));
};

test("the order of keys makes no difference, and everything else does", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      expect(canonicalText(reversed(a))).toBe(canonicalText(a));
      expect(JSON.parse(canonicalText(a))).toEqual(JSON.parse(JSON.stringify(a)));
      const same = canonicalText(a) === canonicalText(b);
      expect(same).toBe(
        canonicalText(JSON.parse(JSON.stringify(a))) === canonicalText(JSON.parse(JSON.stringify(b))),
      );
      if (same) expect(JSON.parse(JSON.stringify(b))).toEqual(JSON.parse(JSON.stringify(a)));
    }),
  );
});

test("values that only look alike have different texts", () => {
  const values = [1, "1", true, "true", null, "null", [], {}, [1], { 0: 1 }, "", { a: undefined }];
  const texts = values.map(canonicalText);
  expect(new Set(texts.slice(0, -1)).size).toBe(values.length - 1);
});
