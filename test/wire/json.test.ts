import { expect, test } from "vitest";
import { isSame, isSameText } from "../../src/wire/json.js";
import { canonicalText, parseJson, writeJson } from "../../src/wire/json-text.js";
import fc from "../support/fast-check.js";

test.each([
  [{}, {}, true],
  [{ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }, true],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: 1, b: 2 }, { a: 1 }, false],
  [{ a: 1 }, { b: 1 }, false],
  [[1, 2], [2, 1], false],
  [[], {}, false],
  [{}, null, false],
  [undefined, {}, false],
  [undefined, undefined, true],
  [{ toString: 1 }, {}, false],
  [JSON.parse('{"__proto__":{"a":1}}'), {}, false],
  [JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":2}}'), false],
])("%j and %j: %j", (a, b, same) => {
  expect(isSame(a, b)).toBe(same);
  expect(isSame(b, a)).toBe(same);
});

test("it agrees with the canonical text", () => {
  const parsed = fc.json({ maxDepth: 3 }).map((json) => JSON.parse(json) as unknown);
  fc.assert(
    fc.property(parsed, parsed, (a, b) => {
      expect(isSame(a, b)).toBe(canonicalText(a) === canonicalText(b));
      expect(isSame(a, structuredClone(a))).toBe(true);
    }),
  );
});

test("the same text is that of the same members in the same order, with numbers in the same notation", () => {
  const texts = fc.constantFrom(
    "1",
    "1.0",
    "[]",
    "{}",
    '{"a":1,"b":2}',
    '{"b":2,"a":1}',
    '{"a":1.0}',
    '{"__proto__":1}',
    "null",
  );
  const parsed = fc.oneof(texts, fc.json({ maxDepth: 3 })).map(parseJson);
  fc.assert(
    fc.property(parsed, parsed, (a, b) => {
      expect(isSameText(a, b)).toBe(writeJson(a) === writeJson(b));
      expect(isSameText(a, parseJson(writeJson(a)))).toBe(true);
    }),
  );
});
