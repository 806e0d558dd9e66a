import { describe, expect, it } from "vitest";
import { ExactNumber } from "../../src/wire/json.js";
import { NestedTooDeep } from "../../src/wire/json-scan.js";
import { parseJson } from "../../src/wire/json-text.js";
import { parseInSteps } from "../../src/wire/parse-in-steps.js";
import fc from "../support/fast-check.js";

/** What the parser gives in the end, and in how many steps. */
function parsed(text: string, stepChars?: number, maxDepth = 64): { value: unknown; steps: number } {
  const parsing = parseInSteps(text, maxDepth, stepChars);
  for (let steps = 1; ; steps++) {
    const step = parsing.next();
    if (step.done === true) return { value: step.value, steps };
  }
}

/** The value, or the kind of error. */
function outcome(read: () => unknown): unknown {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof SyntaxError) return SyntaxError;
    throw error;
  }
}

const aStep = fc.integer({ min: 1, max: 40 });
const aSpace = fc.constantFrom("", " ", "\n", "\t \r");
const aNumber = fc.constantFrom("0", "-0", "1.0", "9007199254740993", "1e400", "-12.5", "3");

/** JSON texts with spaces, escapes, twins of keys, and numbers of all kinds. */
const { text: aText } = fc.letrec<{ text: string; value: string }>((tie) => ({
  text: fc.tuple(aSpace, tie("value"), aSpace).map((parts) => parts.join("")),
  value: fc.oneof(
    { maxDepth: 4 },
    aNumber,
    fc.constantFrom("true", "false", "null"),
    fc.string({ unit: "binary", maxLength: 60 }).map((value) => JSON.stringify(value)),
    fc
      .array(fc.constantFrom("\\\\", '\\"', "\\u00e9", "\\ud83d", "\\n", "x", "é", "😀"), { maxLength: 40 })
      .map((pieces) => `"${pieces.join("")}"`),
    fc.array(tie("text")).map((elements) => `[${elements.join(",")}]`),
    fc
      .array(
        fc.tuple(aSpace, fc.constantFrom("a", "b", "1", "0", "__proto__", "long key"), aSpace, tie("text")),
      )
      .map((all) => `{${all.map(([a, key, b, value]) => `${a}"${key}"${b}:${value}`).join(",")}}`),
  ),
}));

describe("a long JSON text is parsed in steps", () => {
  it("to the value that parsing it at once gives, keys in the same order", () => {
    fc.assert(
      fc.property(aText, aStep, (text, step) => {
        const { value } = parsed(text, step);
        expect(value).toStrictEqual(parseJson(text));
        expect(JSON.stringify(value)).toBe(JSON.stringify(parseJson(text)));
      }),
      { numRuns: 2_000 },
    );
  });

  it("and refused where parsing it at once would refuse it", () => {
    const damaged = fc
      .tuple(
        aText,
        fc.nat(),
        fc.constantFrom("", ",", "]", "}", "[", "{", '"', ":", "\\", "\u0000", "1", "x", " "),
      )
      .map(([text, at, piece]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + piece + text.slice(place + (at % 3));
      });
    fc.assert(
      fc.property(damaged, aStep, (text, step) => {
        expect(outcome(() => parsed(text, step).value)).toStrictEqual(outcome(() => parseJson(text)));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    "",
    " ",
    "[",
    "[1",
    '"',
    "{}}",
    "[]]",
    "1,2",
    "1,",
    ",1",
    "[1}",
    '{"a":1]',
    "[,1]",
    "[1,]",
    '{"a":1,}',
  ])("with %j refused", (text) => {
    for (const step of [1, 2, 100]) expect(() => parsed(text, step)).toThrow(SyntaxError);
  });

  it("no step longer than said, whatever the text is made of", () => {
    const texts = {
      elements: JSON.stringify(Array.from({ length: 20_000 }, (_, at) => at)),
      members: JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]))),
      string: JSON.stringify("é\n".repeat(50_000)),
      nested: JSON.stringify({ a: [{ b: Array.from({ length: 20_000 }, () => ({ c: [1, 2] })) }] }),
    };
    for (const [, text] of Object.entries(texts)) {
      expect(parsed(text, 1_000).steps).toBeGreaterThan(text.length / 1_010);
    }
  });

  it("with numbers as they were written", () => {
    const { value } = parsed(`{"a":[${"1.0,".repeat(50)}9007199254740993]}`, 20);
    expect((value as { a: unknown[] }).a.at(-1)).toEqual(new ExactNumber("9007199254740993"));
  });

  it("and refused where it is nested too deeply, however long the steps are", () => {
    const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
    for (const step of [1, 7, 1_000]) {
      expect(() => parsed(nested(65), step)).toThrow(NestedTooDeep);
      expect(parsed(nested(64), step).value).toStrictEqual(JSON.parse(nested(64)));
      expect(() => parsed(`{"a":${nested(64)}}`, step)).toThrow(NestedTooDeep);
    }
  });
});
