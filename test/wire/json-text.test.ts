import { describe, expect, test } from "vitest";
import { ExactNumber, isObject, numberOf } from "../../src/wire/json.js";
import { canonicalText, mayHaveNonCanonicalNumber, parseJson, writeJson } from "../../src/wire/json-text.js";
import fc from "../support/fast-check.js";
import { numberText } from "../support/number-texts.js";

const ODD = [
  ...["9007199254740993", "-9007199254740993", "123456789012345678901234567890", "1e400", "-1E-400"],
  ...["1.0", "0.10", "-0", "-0.0", "0.0", "1E5", "1e5", "1e+5", "1e-5", "0.0000001", "0.1000000000000000055"],
  ...["12345678.123456789012", "1e21", "1.5e300", "0e0", "-0e1", "1000000000000000000000"],
];
const PLAIN = ["0", "1", "-1", "0.5", "1.25", "999999999999999", "9007199254740992", "1e+21", "1e-7", "0.1"];

describe("numbers that a double does not keep", () => {
  test.each(ODD)("%s is written as it was read, anywhere", (source) => {
    for (const text of [
      source,
      `[${source}]`,
      `{"a":${source}}`,
      `{"a":[1,${source},"x"],"b":{"c":${source}}}`,
    ]) {
      expect(writeJson(parseJson(text))).toBe(text);
    }
  });

  test.each(ODD)("%s has the value that JSON.parse gives it", (source) => {
    const value = parseJson(source);
    expect(value).toBeInstanceOf(ExactNumber);
    expect(numberOf(value)).toBe(JSON.parse(source));
    expect(isObject(value)).toBe(false);
  });

  test.each(PLAIN)("%s is a plain number", (source) => {
    expect(parseJson(`[${source}]`)).toEqual([JSON.parse(source)]);
  });

  test("other writers get the nearest double", () => {
    expect(JSON.stringify(parseJson('{"a":9007199254740993,"b":1e400,"c":1.0}'))).toBe(
      '{"a":9007199254740992,"b":null,"c":1}',
    );
  });

  test("white space and indentation are no part of them", () => {
    expect(writeJson(parseJson(' { "a" : 1.0 ,\n"b":\t[ -0 , 1e5 ] } '))).toBe('{"a":1.0,"b":[-0,1e5]}');
    expect(writeJson(parseJson('{"a":1.0}'), 2)).toBe('{\n  "a": 1.0\n}');
  });

  test("are not asked what is to be written instead", () => {
    const replace = (value: unknown) => (typeof value === "string" ? value.length : value);
    expect(writeJson(parseJson('{"a":1e400,"b":"long"}'), undefined, replace)).toBe('{"a":1e400,"b":4}');
  });

  test("stand beside what JSON cannot say as everything does", () => {
    const odd = { a: undefined, b: [undefined, Number.NaN], c: new Date(0), d: "\ud800", e: {}, f: [] };
    expect(writeJson({ ...odd, n: parseJson("1.0") })).toBe(
      JSON.stringify({ ...odd, n: 1 }).replace(":1}", ":1.0}"),
    );
    expect(() => writeJson({ n: parseJson("1.0"), big: 1n })).toThrow(TypeError);
    // Nothing is left behind for other writers.
    expect(JSON.stringify(parseJson("[1.0]"))).toBe("[1]");
  });

  test("text that looks like them stays text", () => {
    const text = '{"1.0":"1.0, 1e400] -0,","9007199254740993":"9007199254740993"}';
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });
});

describe("any JSON text", () => {
  test("is written as JSON.stringify would, except its numbers", () => {
    fc.assert(
      fc.property(tree, fc.constantFrom("", " ", "\n\t"), (value, space) => {
        const text = render(value, space, (token) => token);
        // What JavaScript makes of the same text where each number is a string.
        const expected = JSON.stringify(JSON.parse(render(value, space, (token) => `"#${token}"`)));
        expect(writeJson(parseJson(text))).toBe(expected.replace(/"#([^"]*)"/g, "$1"));
      }),
      { numRuns: 1000 },
    );
  });

  test("is indented as JSON.stringify would, except its numbers", () => {
    fc.assert(
      fc.property(tree, fc.nat({ max: 4 }), (value, indent) => {
        const expected = JSON.stringify(
          JSON.parse(render(value, "", (token) => `"#${token}"`)),
          null,
          indent,
        );
        const written = writeJson(parseJson(render(value, "", (token) => token)), indent);
        expect(written).toBe(expected.replace(/"#([^"]*)"/g, "$1"));
      }),
    );
  });

  test("has the values that JSON.parse gives it", () => {
    fc.assert(
      fc.property(tree, (value) => {
        const text = render(value, " ", (token) => token);
        expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  test("is searched quickly for what it certainly has not", () => {
    fc.assert(
      fc.property(tree, (value) => {
        const text = render(value, "", (token) => token);
        const isOdd = writeJson(parseJson(text)) !== JSON.stringify(JSON.parse(text));
        if (isOdd) expect(mayHaveNonCanonicalNumber(text)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  test("is refused as JSON.parse refuses it", () => {
    for (const text of [
      "01",
      "1.",
      ".5",
      "+1",
      "1e",
      "--0",
      "{1e400:1}",
      "[1e400",
      '{"a":1.0,}',
      "",
      "1.0 1.0",
    ]) {
      expect(() => parseJson(text), text).toThrow(SyntaxError);
    }
  });

  test("nested deeper than any message is still parsed", () => {
    const text = `${"[".repeat(50_000)}1.0${"]".repeat(50_000)}`;
    expect(Array.isArray(parseJson(text))).toBe(true);
  });

  test("keeps members of every name, and of twins the last", () => {
    const text = '{"__proto__":1.0,"constructor":1e400,"a":1,"a":-0,"1":2.0}';
    const value = parseJson(text) as Record<string, unknown>;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(writeJson(value)).toBe('{"1":2.0,"__proto__":1.0,"constructor":1e400,"a":-0}');
  });
});

type Value =
  | { readonly number: string }
  | { readonly other: string | boolean | null }
  | { readonly list: readonly Value[] }
  | { readonly members: readonly (readonly [string, Value])[] };

const { value: tree } = fc.letrec<{ value: Value }>((tie) => {
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("1.0,", ": 1e5]", '\\"-0,', "__proto__", "7", "a", "toJSON"),
  );
  const plain = texts.map((text) => text.replaceAll("#", ""));
  return {
    value: fc.oneof(
      { maxDepth: 4 },
      numberText().map((number): Value => ({ number })),
      fc.oneof(plain, fc.boolean(), fc.constant(null)).map((other): Value => ({ other })),
      fc.array(tie("value"), { maxLength: 5 }).map((list): Value => ({ list })),
      fc.array(fc.tuple(plain, tie("value")), { maxLength: 5 }).map((members): Value => ({ members })),
    ),
  };
});

function render(value: Value, space: string, number: (token: string) => string): string {
  const inner = (each: Value) => `${space}${render(each, space, number)}${space}`;
  if ("number" in value) return number(value.number);
  if ("other" in value) return JSON.stringify(value.other);
  if ("list" in value) return `[${value.list.map(inner).join(",")}]`;
  return `{${value.members.map(([key, each]) => `${space}${JSON.stringify(key)}${space}:${inner(each)}`).join(",")}}`;
}

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
