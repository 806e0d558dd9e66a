/** Documents with keywords that no validator takes: the schemas that hosts list are valid JSON Schema 2020-12. */
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { describe, expect, test } from "vitest";
import { isObject } from "../../../src/wire/json.js";
import { documentOf, startApi } from "../../support/api.js";
import { openApi } from "./open-api.js";

const json = (schema: unknown) => ({ content: { "application/json": { schema } } });
const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false });
formats.default(ajv);

/** The schema of the body and the output schema of a document that has `schema` in both. */
async function schemasOf(schema: unknown, version = "3.0.3") {
  const { tools } = await openApi(
    documentOf(
      {
        "/a": {
          post: {
            parameters: [{ name: "q", in: "query", schema }],
            requestBody: json({
              type: "object",
              properties: { x: schema, list: { type: "array", items: schema } },
            }),
            responses: { 200: { description: "ok", ...json({ type: "object", properties: { x: schema } }) } },
          },
        },
      },
      { openapi: version, components: { schemas: { S: schema } } },
    ),
  );
  const [tool] = await tools();
  const body = tool?.inputSchema.properties.body as { properties: { x: unknown } };
  return { tool, x: body.properties.x };
}

function faultsOf(schema: unknown): unknown {
  if (ajv.validateSchema(schema as object) !== true) return ajv.errors;
  ajv.compile(schema as object);
  return [];
}

const ODD: readonly (readonly [unknown, unknown])[] = [
  [{ type: "any" }, {}],
  [{ type: "file" }, { type: "string", contentEncoding: "base64" }],
  [{ type: ["string", "any"] }, {}],
  [{ type: ["string", "string", null] }, { type: ["string", "null"] }],
  [{ type: [] }, {}],
  [{ type: "int" }, { type: "integer" }],
  [{ type: "String" }, { type: "string" }],
  [
    { type: "date", format: "date" },
    { type: "string", format: "date" },
  ],
  [{ type: 5 }, {}],
  [
    { type: "number", minimum: 1, exclusiveMinimum: true },
    { type: "number", exclusiveMinimum: 1 },
  ],
  [{ type: "number", exclusiveMaximum: true }, { type: "number" }],
  [
    { type: "number", minimum: "3", maximum: "x", multipleOf: 0 },
    { type: "number", minimum: 3 },
  ],
  [
    { type: "string", minLength: "3", maxLength: -1 },
    { type: "string", minLength: 3 },
  ],
  [{ type: "array", items: "string", minItems: 1.5, uniqueItems: "yes" }, { type: "array" }],
  [
    { type: "array", items: [{ type: "any" }, { type: "string" }], additionalItems: false },
    { type: "array", prefixItems: [{}, { type: "string" }], items: false },
  ],
  [{ anyOf: {}, oneOf: [], allOf: "x" }, {}],
  [{ type: "object", required: true }, { type: "object" }],
  [
    { type: "object", required: ["a", "a", 5] },
    { type: "object", required: ["a"] },
  ],
  [
    { type: "object", properties: { a: { type: "string", required: true }, b: "string", c: null } },
    { type: "object", properties: { a: { type: "string" }, b: {}, c: {} }, required: ["a"] },
  ],
  [
    { type: "object", properties: ["a"], patternProperties: { "(": {} } },
    { type: "object", patternProperties: {} },
  ],
  [{ type: "string", enum: {}, pattern: "[", format: 7, description: null, title: 1 }, { type: "string" }],
  [{ type: "string", enum: [] }, { type: "string" }],
  [{ type: "string", nullable: true }, { type: ["string", "null"] }],
  [
    { type: ["string", "null"], nullable: true, minLength: 1 },
    { type: ["string", "null"], minLength: 1 },
  ],
  [{ type: "null", nullable: true }, { type: ["null"] }],
  [{ $ref: 5, type: "string" }, { type: "string" }],
  [
    { type: "object", dependencies: { a: ["b"], c: { required: ["d"] } } },
    { type: "object", dependentRequired: { a: ["b"] }, dependentSchemas: { c: { required: ["d"] } } },
  ],
  [{ type: "string", examples: { one: { value: 1 } }, deprecated: "soon" }, { type: "string" }],
  [
    { type: "string", example: "e" },
    { type: "string", examples: ["e"] },
  ],
  ["string", {}],
  [{ if: "x", not: 5, contains: [], propertyNames: null }, {}],
];

describe.each(["3.0.3", "3.1.0"])("in a document of OpenAPI %s", (version) => {
  test.each(ODD)("%j is listed as a valid schema", async (schema, expected) => {
    const { tool, x } = await schemasOf(schema, version);
    expect(faultsOf(tool?.inputSchema)).toEqual([]);
    expect(tool?.outputSchema === undefined ? [] : faultsOf(tool.outputSchema)).toEqual([]);
    expect(x).toEqual(expected);
  });
});

test("a file of OpenAPI 2 in a multipart form is sent as bytes", async () => {
  const api = await startApi();
  const { call, tools } = await openApi(
    documentOf({
      "/a": {
        post: {
          operationId: "op",
          requestBody: {
            content: {
              "multipart/form-data": { schema: { type: "object", properties: { f: { type: "file" } } } },
            },
          },
          responses: { 200: { description: "ok" } },
        },
      },
    }),
    { baseUrl: api.url },
  );
  expect(isObject((await tools())[0]?.inputSchema)).toBe(true);
  await call("op", { body: { f: Buffer.from("bytes").toString("base64") } });
  expect(String(api.asked[0]?.body)).toContain("application/octet-stream\r\n\r\nbytes\r\n");
});
