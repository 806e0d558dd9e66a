import { describe, expect, test } from "vitest";
import { compile } from "../../../../src/features/schema-checks/json-schema/compile.js";
import { validated } from "./support.js";

const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });

describe("a mismatch is reported with its path, and never with its value", () => {
  test.each<[object, unknown, string]>([
    [object({ n: { type: "integer" } }), { n: "s3cret" }, "n must be integer"],
    [object({}, { required: ["sql"] }), {}, 'needs a member "sql"'],
    [object({ a: { items: { maximum: 3 } } }), { a: [1, 2, 9] }, "a[2] must be at most 3"],
    [
      object({ a: object({ "b c": { minLength: 2 } }) }),
      { a: { "b c": "x" } },
      'a."b c" must have at least 2 characters',
    ],
    [object({}, { additionalProperties: false }), { s: 1 }, "s must not be there"],
    [object({ m: { enum: ["a", "b"] } }), { m: "s3cret" }, 'm must be one of "a", "b"'],
    [object({ m: { const: "a" } }), { m: "s3cret" }, 'm must be "a"'],
    [
      object({ m: { anyOf: [{ type: "string" }, { type: "null" }] } }),
      { m: 1 },
      "m fits none of the 2 alternatives (must be string; must be null)",
    ],
    [object({ m: { pattern: "^a+$" } }), { m: "b" }, "m must match the pattern ^a+$"],
    [object({ m: { format: "date" } }), { m: "b" }, "m must be a text of format date"],
    [{ type: ["string", "null"] }, 1, "must be string or null"],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, "ab has a name that must have at most 1 characters"],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, 'needs a member "b" beside "a"'],
    [
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      "must have no two equal elements",
    ],
    [{ not: { type: "string" } }, "s3cret", "fits what it must not fit"],
  ])("%j of %j: %s", async (schema, value, expected) => {
    expect(await validated(schema, value)).toBe(expected);
  });
});

describe("references", () => {
  test.each<[object, unknown, string]>([
    [{ $ref: "#/$defs/n", $defs: { n: { type: "number" } } }, "x", "must be number"],
    [{ $ref: "#n", $defs: { x: { $anchor: "n", type: "number" } } }, "x", "must be number"],
    [
      { $id: "https://x.example/s", $ref: "https://x.example/s#/$defs/n", $defs: { n: false } },
      1,
      "must not be there",
    ],
    [{ $ref: "#/$defs/a~1b%25", $defs: { "a/b%": false } }, 1, "must not be there"],
    [
      { properties: { next: { $ref: "#" } }, additionalProperties: false },
      { next: { next: { x: 1 } } },
      "next.next.x must not be there",
    ],
    [
      { definitions: { n: { type: "number" } }, items: { $ref: "#/definitions/n" } },
      [1, "x"],
      "[1] must be number",
    ],
  ])("inside %j are followed", async (schema, value, expected) => {
    expect(await validated(schema, value)).toBe(expected);
  });

  test.each([
    { $ref: "https://schemas.example/x.json" },
    { $ref: "file:///etc/passwd" },
    { $ref: "other.json#/a" },
    { $ref: "#/nowhere" },
    { $ref: 7 },
    { $ref: "#/$defs/a", $defs: { a: { $id: "https://y.example/", $ref: "#/$defs/b" } } },
  ])("that reference external documents are neither fetched nor enforced: %j", async (schema) => {
    const { warnings } = await compile(schema);
    expect(await validated(schema, 1)).toBe("unknown");
    expect(await validated({ not: schema }, 1)).toBe("unknown");
    expect(warnings).toEqual(['a "$ref" cannot be followed']);
  });
});

describe("patterns that RE2 does not take", () => {
  const odd = { type: "string", pattern: "^(?=.*\\d).+$" };

  test("are ignored, and reported once; all other keywords hold", async () => {
    expect((await compile(object({ a: odd, b: odd }))).warnings).toEqual([
      "the pattern ^(?=.*\\d).+$ is not supported by RE2",
    ]);
    expect(await validated(object({ a: odd }), { a: "x" })).toBe("unknown");
    expect(await validated(object({ a: odd }), { a: 1 })).toBe("a must be string");
  });

  test.each<[object, unknown, string]>([
    [{ not: odd }, "x", "unknown"],
    [{ not: odd }, 1, "fits"],
    [{ anyOf: [odd, { type: "null" }] }, "x", "unknown"],
    [{ anyOf: [odd, { type: "null" }] }, 1, "fits none of the 2 alternatives (must be string; must be null)"],
    [{ anyOf: [odd, true] }, "x", "fits"],
    [{ oneOf: [odd, true] }, "x", "unknown"],
    [{ oneOf: [odd, true, true] }, "x", "fits more than one of the alternatives, and may fit only one"],
    [{ if: odd, else: false }, "x", "unknown"],
    [{ if: odd, else: true }, "x", "fits"],
    [{ contains: odd, maxContains: 1 }, ["x", "y"], "unknown"],
    [
      { contains: odd, minContains: 3 },
      ["x", "y"],
      "must have at least 3 elements of the kind that the schema names",
    ],
    [{ patternProperties: { "(?=x)": true }, additionalProperties: false }, { x: 1 }, "unknown"],
    [{ patternProperties: { "(?=x)": true }, properties: { y: false } }, { y: 1 }, "y must not be there"],
    [{ allOf: [odd], unevaluatedProperties: false }, { x: 1 }, "must be string"],
  ])("inside %j leave %j: %s", async (schema, value, expected) => {
    expect(await validated(schema, value)).toBe(expected);
  });
});

describe("cached evaluations", () => {
  const named = (...names: string[]) => ({
    properties: Object.fromEntries(names.map((name) => [name, true])),
  });
  test.each<[object, unknown, string]>([
    [{ ...named("a"), unevaluatedProperties: false }, { a: 1, b: 2 }, "b must not be there"],
    [{ allOf: [named("a")], unevaluatedProperties: false }, { a: 1 }, "fits"],
    [{ anyOf: [named("a"), named("b")], unevaluatedProperties: false }, { a: 1, b: 2 }, "fits"],
    [
      { anyOf: [{ ...named("a"), required: ["c"] }, named("b")], unevaluatedProperties: false },
      { a: 1, b: 2 },
      "a must not be there",
    ],
    [{ if: { ...named("a"), required: ["a"] }, unevaluatedProperties: false }, { a: 1 }, "fits"],
    [
      { if: { ...named("a"), required: ["c"] }, unevaluatedProperties: false },
      { a: 1 },
      "a must not be there",
    ],
    [{ $ref: "#/$defs/a", $defs: { a: named("a") }, unevaluatedProperties: false }, { a: 1 }, "fits"],
    [{ not: { not: named("a") }, unevaluatedProperties: false }, { a: 1 }, "a must not be there"],
    [{ additionalProperties: true, unevaluatedProperties: false }, { a: 1 }, "fits"],
    [{ prefixItems: [true], unevaluatedItems: false }, [1, 2], "[1] must not be there"],
    [{ contains: { type: "string" }, unevaluatedItems: { type: "number" } }, ["a", 1], "fits"],
    [
      { contains: { type: "string" }, unevaluatedItems: { type: "number" } },
      ["a", null],
      "[1] must be number",
    ],
    [{ allOf: [{ items: true }], unevaluatedItems: false }, [1], "fits"],
  ])("%j of %j: %s", async (schema, value, expected) => {
    expect(await validated(schema, value)).toBe(expected);
  });
});

describe("older drafts and unknown keywords", () => {
  test.each<[object, unknown, string]>([
    [{ items: [{ type: "string" }], additionalItems: false }, ["a", 1], "[1] must not be there"],
    [{ dependencies: { a: ["b"] } }, { a: 1 }, 'needs a member "b" beside "a"'],
    [{ dependencies: { a: { required: ["c"] } } }, { a: 1 }, 'needs a member "c"'],
    [{ minimum: 1, exclusiveMinimum: true }, 1, "must be more than 1"],
    [{ minimum: 1, exclusiveMinimum: false }, 1, "fits"],
    [{ type: "string", nullable: true }, null, "fits"],
    [
      {
        $schema: "http://json-schema.org/draft-07/schema#",
        definitions: { a: true },
        properties: { x: { $ref: "#/definitions/a", type: "string" } },
      },
      { x: 1 },
      "fits",
    ],
    [
      { properties: { x: { $ref: "#/$defs/a", type: "string" } }, $defs: { a: true } },
      { x: 1 },
      "x must be string",
    ],
  ])("%j of %j: %s", async (schema, value, expected) => {
    expect(await validated(schema, value)).toBe(expected);
  });

  test.each<[object, string]>([
    [{ type: "any" }, 'a "type" cannot be followed'],
    [{ enum: "a" }, 'a "enum" cannot be followed'],
    [{ minimum: "1" }, 'a "minimum" cannot be followed'],
    [{ anyOf: {} }, 'a "anyOf" cannot be followed'],
    [{ maxLength: -1 }, 'a "maxLength" cannot be followed'],
    [{ multipleOf: 0 }, 'a "multipleOf" cannot be followed'],
    [{ properties: { a: "string" } }, "not a schema"],
  ])("a keyword that makes no sense is passed over: %j", async (schema, remark) => {
    const { warnings } = await compile(schema);
    expect(warnings).toEqual([remark]);
    expect(await validated(schema, { a: 1 })).toBe("fits");
  });
});

test("names from outside are names and nothing else", async () => {
  const strict = { properties: { a: true }, additionalProperties: false };
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    const value: unknown = JSON.parse(`{ "${name}": 1 }`);
    expect(await validated(strict, value)).toBe(`${name} must not be there`);
    expect(await validated({ required: [name] }, {})).toBe(`needs a member "${name}"`);
    expect(await validated({ required: [name] }, value)).toBe("fits");
    const schema: unknown = JSON.parse(`{ "properties": { "${name}": { "type": "string" } } }`);
    expect(await validated(schema, value)).toBe(`${name} must be string`);
    expect(await validated(schema, {})).toBe("fits");
  }
});
