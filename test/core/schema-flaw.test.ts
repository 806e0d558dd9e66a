/** Which schemas of tools are valid in their dialect; Ajv with its meta-schemas is the oracle. */
import { Ajv } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { schemaFlaw } from "../../src/core/schema-flaw.js";
import { ExactNumber, type JsonObject } from "../../src/wire/json.js";

const options = { strict: false, validateFormats: false, logger: false } as const;
const DIALECTS = [
  ["http://json-schema.org/draft-07/schema#", new Ajv(options)],
  ["https://json-schema.org/draft/2019-09/schema", new Ajv2019(options)],
  ["https://json-schema.org/draft/2020-12/schema", new Ajv2020(options)],
] as const;

const KEYWORDS = [
  ...["type", "enum", "const", "required", "properties", "patternProperties", "additionalProperties"],
  ...["items", "prefixItems", "additionalItems", "contains", "minContains", "maxContains", "uniqueItems"],
  ...["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas", "dependentRequired"],
  ...["dependencies", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"],
  ...["minItems", "maxItems", "minProperties", "maxProperties", "pattern", "format", "title", "description"],
  ...["default", "examples", "example", "nullable", "x-more", "readOnly", "writeOnly", "deprecated"],
  ...["$comment", "contentEncoding", "contentMediaType", "$defs", "definitions", "divisibleBy"],
];
const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, 1, -1, 1.5, "", "3", "any", "string", "object", "a"],
  ...[[], ["a"], ["a", "a"], ["string", "null"], ["string", "string"], ["any"], [1], [{}], [true], ["x", {}]],
  ...[{}, { a: {} }, { a: "string" }, { a: ["b"] }, { a: ["b", "b"] }, { a: true }, { a: null }, { a: [] }],
  ...[{ type: "any" }, { a: { type: "any" } }, [{ type: "any" }], { type: "string" }, { $ref: "#" }],
];

describe.each(DIALECTS)("by %s", ($schema, ajv) => {
  test.each(KEYWORDS)("every value of %s is checked as Ajv does, at any depth", (keyword) => {
    const wrong = VALUES.flatMap((value) => {
      const schemas: readonly JsonObject[] = [
        { $schema, [keyword]: value },
        { $schema, properties: { deep: { allOf: [{ not: { [keyword]: value } }] } } },
      ];
      return schemas.flatMap((schema) => {
        // The meta-schema of draft 7 in Ajv is stricter than the published one here.
        if (keyword === "enum" && $schema.includes("draft-07") && Array.isArray(value)) return [];
        const isValid = ajv.validateSchema(structuredClone(schema)) === true;
        const flaw = schemaFlaw(schema, "inputSchema");
        return isValid === (flaw === undefined) ? [] : [{ value, isValid, flaw }];
      });
    });
    expect(wrong).toEqual([]);
  });
});

test.each([
  [{ properties: { a: { type: "any" } } }, "inputSchema.properties.a.type"],
  [{ properties: { a: { required: true } } }, "inputSchema.properties.a.required"],
  [{ properties: { a: { exclusiveMinimum: true } } }, "inputSchema.properties.a.exclusiveMinimum"],
  [{ $defs: { D: { anyOf: [{}, { minLength: "3" }] } } }, "inputSchema.$defs.D.anyOf[1].minLength"],
  [{ items: "string" }, "inputSchema.items"],
  [{ properties: { a: { anyOf: {} } } }, "inputSchema.properties.a.anyOf"],
  [{ properties: { type: "object" } }, "inputSchema.properties.type"],
])("the flaw of %j is named: %s", (schema, member) => {
  expect(schemaFlaw(schema as JsonObject, "inputSchema")).toMatchObject({ member });
});

test("what is data, a name or an unknown keyword is no schema", () => {
  const odd = { type: "any", required: true };
  const schema = {
    default: odd,
    const: odd,
    enum: [odd],
    examples: [odd],
    "x-more": odd,
    nullable: true,
    properties: { required: { type: "string" }, type: { type: "string" }, anyOf: true },
  };
  expect(schemaFlaw(schema, "")).toBeUndefined();
});

test.each([
  ["http://json-schema.org/draft-04/schema#", { exclusiveMinimum: true, minimum: 1 }, undefined],
  ["http://json-schema.org/draft-04/schema#", { exclusiveMinimum: 1 }, ".exclusiveMinimum"],
  ["http://json-schema.org/draft-04/schema#", { properties: { a: { type: "any" } } }, ".properties.a.type"],
  [
    "http://json-schema.org/draft-03/schema#",
    { properties: { a: { type: "any", required: true } } },
    undefined,
  ],
  ["https://example.com/my-schema", { type: "any" }, undefined],
  ["http://json-schema.org/draft-07/schema", { items: [{ type: "string" }] }, undefined],
  ["https://json-schema.org/draft/2020-12/schema#", { items: [{ type: "string" }] }, ".items"],
])("by the dialect %s, %j is checked", ($schema, schema, member) => {
  expect(schemaFlaw({ $schema, ...schema }, "")?.member).toBe(member);
});

test("numbers are checked in any notation", () => {
  expect(
    schemaFlaw({ minLength: new ExactNumber("3.0"), maximum: new ExactNumber("1e400") }, ""),
  ).toBeUndefined();
  expect(schemaFlaw({ minLength: new ExactNumber("-1.0") }, "")).toMatchObject({ member: ".minLength" });
});

test("a schema of 100,000 levels is checked without recursion", () => {
  let schema: JsonObject = { type: "any" };
  for (let level = 0; level < 100_000; level++) schema = { not: schema };
  expect(schemaFlaw(schema, "inputSchema")?.reason).toContain("type of JSON");
});
