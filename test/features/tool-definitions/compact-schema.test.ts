import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import {
  compactSchema,
  SCHEMA_DESCRIPTION_LENGTH,
} from "../../../src/features/tool-definitions/compact-schema.js";
import type { JsonObject } from "../../../src/wire/json.js";
import fc from "../../support/fast-check.js";

describe("a compact schema", () => {
  test("omits titles, comments, examples and descriptions that repeat a name", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "searchArguments",
      description: "Searches the books.",
      type: "object",
      properties: {
        user_id: { title: "User Id", type: "string", description: "The user ID." },
        limit: { type: "integer", minimum: 1, default: 10, examples: [10, 20], description: "At most 100." },
      },
      required: ["user_id"],
      $comment: "made by a machine",
      additionalProperties: false,
    };
    expect(compactSchema(schema, ["search", "Searches the books."])).toEqual({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        user_id: { type: "string" },
        limit: { type: "integer", minimum: 1, default: 10, description: "At most 100." },
      },
      required: ["user_id"],
      additionalProperties: false,
    });
  });

  test("keeps properties named like omitted keywords, and such names in data", () => {
    const data = { title: "x", examples: [1], description: "title", $comment: "y" };
    const schema = {
      type: "object",
      properties: {
        title: { type: "string" },
        examples: { type: "array", items: { type: "string" } },
        description: { type: "string", maxLength: 5 },
        $comment: true,
      },
      required: ["title", "examples", "description"],
      enum: [data],
      const: data,
      default: data,
      "x-widget": { title: "Pick one", properties: { a: { title: "A" } } },
    };
    expect(compactSchema(schema)).toBe(schema);
  });

  test("shortens every subschema, and nothing else", () => {
    const long = { title: "T", type: "string" };
    const short = { type: "string" };
    const around = (inner: JsonObject): JsonObject => ({
      allOf: [inner, true],
      items: [inner],
      not: inner,
      additionalProperties: inner,
      $defs: { a: inner },
      dependencies: { a: ["b"], b: inner },
      patternProperties: { "^x": { if: inner, else: { prefixItems: [inner] } } },
    });
    expect(compactSchema(around(long))).toEqual(around(short));
  });

  test("cuts long descriptions at the end of a sentence", () => {
    const sentence = `${"It finds books. ".repeat(20)}`;
    const schema = { type: "object", properties: { q: { description: sentence } } };
    const { properties } = compactSchema(schema) as typeof schema;
    expect(properties.q.description).toMatch(/^It finds books\..*books\. …$/);
    expect(properties.q.description.length).toBeLessThanOrEqual(SCHEMA_DESCRIPTION_LENGTH);
  });

  test.each(["#/properties/a/examples/0", "#/properties/a/%65xamples/0"])(
    "keeps examples if %s references them",
    ($ref) => {
      const schema = { properties: { a: { title: "A", examples: [{ type: "string" }] }, b: { $ref } } };
      expect(compactSchema(schema)).toEqual({
        properties: { a: { examples: [{ type: "string" }] }, b: { $ref } },
      });
    },
  );

  test("accepts exactly the values that the schema accepts", () => {
    const seen = { schemas: 0, shorter: 0, valid: 0, invalid: 0 };
    fc.assert(
      fc.property(schemas, fc.array(values, { minLength: 1, maxLength: 20 }), (schema, candidates) => {
        seen.schemas += 1;
        const compact = compactSchema(schema, NAMES);
        const [before, after] = [schema, compact].map((each) => validator(each));
        for (const value of candidates) {
          const isValid = before?.(value);
          expect(after?.(value)).toBe(isValid);
          if (isValid !== "failure") seen[isValid === true ? "valid" : "invalid"] += 1;
        }
        if (compact !== schema) seen.shorter += 1;
      }),
      { numRuns: 400 },
    );
    // The sample has enough schemas and values to detect a difference.
    expect(seen.shorter).toBeGreaterThan(seen.schemas / 4);
    expect(seen.valid).toBeGreaterThan(1.25 * seen.schemas);
    expect(seen.invalid).toBeGreaterThan(1.25 * seen.schemas);
  });
});

const ajv = new Ajv2020({ strict: false, logger: false });

/** What ajv makes of a value; for some schemas with `anyOf` its code fails at some values. */
function validator(schema: JsonObject): (value: unknown) => boolean | "failure" {
  const validate = ajv.compile(structuredClone(schema));
  return (value) => {
    try {
      return validate(value);
    } catch {
      return "failure";
    }
  };
}

/** Names of properties: those of keywords among them. */
const NAMES = ["title", "examples", "description", "$comment", "properties", "const", "a", "user_id"];
const name = fc.constantFrom(...NAMES);

const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>(null, true, 0, 1, 7, "", "a", "title", "user id"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 4 }),
  ),
}));

const text = fc.constantFrom("a", "The user ID.", "title", "A text. ".repeat(40), "");
const types = fc.constantFrom("object", "object", "array", "string", "integer", "null", "boolean");
const count = fc.integer({ min: 0, max: 3 });

const { schema: schemas } = fc.letrec<{ schema: JsonObject; any: unknown }>((tie) => {
  const keywords: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    title: text,
    description: text,
    $comment: text,
    examples: fc.array(values, { maxLength: 2 }),
    default: values,
    type: types,
    enum: fc.array(values, { minLength: 1, maxLength: 3 }),
    const: values,
    minimum: count,
    maxLength: count,
    minProperties: count,
    pattern: fc.constantFrom("^a", "t"),
    required: fc.uniqueArray(name, { maxLength: 2 }),
    properties: fc.dictionary(name, tie("any"), { maxKeys: 4 }),
    patternProperties: fc.dictionary(fc.constantFrom("^t", "s$"), tie("any"), { maxKeys: 2 }),
    additionalProperties: tie("any"),
    unevaluatedProperties: tie("any"),
    items: tie("any"),
    prefixItems: fc.array(tie("any"), { minLength: 1, maxLength: 2 }),
    contains: tie("any"),
    propertyNames: tie("any"),
    not: tie("any"),
    if: tie("any"),
    else: tie("any"),
    anyOf: fc.array(tie("any"), { minLength: 1, maxLength: 2 }),
    dependentSchemas: fc.dictionary(name, tie("any"), { maxKeys: 2 }),
  };
  const member = fc.oneof(
    ...Object.entries(keywords).map(([key, arbitrary]) => fc.tuple(fc.constant(key), arbitrary)),
  );
  return {
    schema: fc
      .uniqueArray(member, { maxLength: 5, selector: ([key]) => key })
      .map((members) => Object.fromEntries(members)),
    any: fc.oneof({ maxDepth: 3, depthSize: "small" }, fc.boolean(), tie("schema")),
  };
});
