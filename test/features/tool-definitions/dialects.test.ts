/** Input schemas as families of models take them, at the URLs that ask for it. */
import { describe, expect, onTestFinished, test } from "vitest";
import { formedInSteps, formedTools } from "../../../src/catalog/formed-tools.js";
import { Snapshot } from "../../../src/catalog/view.js";
import { reshape } from "../../../src/features/tool-definitions/dialects/reshape.js";
import { dialectForm } from "../../../src/features/tool-definitions/dialects/reshaped-tools.js";
import { isObject, type JsonObject } from "../../../src/wire/json.js";
import { documentOf, folderWith, startApi } from "../../support/api.js";
import { testOf } from "../../support/features.js";
import { gatewayOf } from "../../support/gateway.js";

const STRING = { type: "string" };
const object = (properties: object, more: object = {}): JsonObject => ({
  type: "object",
  properties,
  ...more,
});
const COMBINED = object(
  { a: STRING },
  {
    required: ["a"],
    oneOf: [
      { required: ["b"], properties: { b: STRING } },
      { required: ["c"], properties: { c: { type: "integer" } } },
    ],
  },
);
const ODD: readonly JsonObject[] = [
  COMBINED,
  object(
    {},
    {
      anyOf: [{ $ref: "#/$defs/B" }, object({ c: STRING })],
      $defs: { B: object({ b: STRING }, { required: ["b"] }) },
    },
  ),
  object(
    { a: STRING },
    {
      allOf: [object({ b: STRING }, { required: ["b"] }), { minProperties: 1 }, { not: { required: ["z"] } }],
    },
  ),
  object({
    kind: { const: "x" },
    n: { const: 5 },
    e: { enum: [1, "a", null] },
    t: { type: "string", enum: ["a", null] },
  }),
  object(
    { file: { type: "string", contentEncoding: "base64", contentMediaType: "image/png", "x-ui": 1 } },
    { "x-more": {} },
  ),
  object({ u: { type: "string", format: "uri", pattern: "^h" }, d: { type: "string", format: "date-time" } }),
  object({ n: { type: ["string", "null"] }, m: { type: ["string", "integer", "null"], description: "m" } }),
  object({
    list: { type: "array" },
    pair: { type: "array", prefixItems: [STRING, STRING] },
    deep: { type: "array", items: { type: "array" } },
  }),
  object(
    { r: { $ref: "#/$defs/Node" } },
    { $defs: { Node: object({ next: { $ref: "#/$defs/Node" }, v: STRING }) } },
  ),
  object({
    i: { type: "integer", exclusiveMinimum: 0, multipleOf: 5, default: 5 },
    o: object({ x: STRING }, { additionalProperties: false }),
  }),
  object({
    c: { oneOf: [STRING, { type: "object", properties: { y: STRING } }], description: "c" },
    f: { anyOf: [STRING, { type: "null" }] },
  }),
  object({ s: object({ k: STRING }, { anyOf: [{ required: ["k"] }, { properties: { l: STRING } }] }) }),
  object(
    { "filter[name]": STRING, ok: STRING },
    { $schema: "https://json-schema.org/draft/2020-12/schema", title: "T" },
  ),
];

/** All schemas in a schema, outermost first. */
function schemasIn(schema: unknown): readonly JsonObject[] {
  if (!isObject(schema)) return [];
  const inner = [
    ...Object.values(isObject(schema.properties) ? schema.properties : {}),
    ...Object.values(isObject(schema.$defs) ? schema.$defs : {}),
    ...["anyOf", "oneOf", "allOf", "prefixItems"].flatMap(
      (key) => (schema[key] as unknown[] | undefined) ?? [],
    ),
    ...["items", "additionalProperties", "not"].map((key) => schema[key]),
  ];
  return [schema, ...inner.flatMap(schemasIn)];
}

const GEMINI = new Set([
  ...[
    "type",
    "nullable",
    "format",
    "title",
    "description",
    "enum",
    "default",
    "items",
    "properties",
    "required",
  ],
  ...["anyOf", "minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength", "pattern"],
  ...["minimum", "maximum"],
]);

/** Why the family would refuse the request, as its public error reports say. */
function refusals(schema: JsonObject, family: "openai" | "gemini" | "anthropic"): readonly string[] {
  const found: string[] = [];
  const all = schemasIn(schema);
  for (const key of ["anyOf", "oneOf", "allOf", ...(family === "anthropic" ? [] : ["enum", "not", "const"])])
    if (Object.hasOwn(schema, key)) found.push(`${key} at the top`);
  if (family === "anthropic")
    found.push(...Object.keys(schema.properties as object).filter((key) => !/^[\w.-]{1,64}$/.test(key)));
  for (const one of all) {
    const keys = Object.keys(one);
    found.push(...keys.filter((key) => key.startsWith("x-") || key.startsWith("content")));
    if (family !== "anthropic") {
      found.push(...keys.filter((key) => ["const", "oneOf", "allOf", "not", "if"].includes(key)));
      if (one.type === "array" && one.items === undefined) found.push("array without items");
    }
    if (family !== "gemini") continue;
    found.push(...keys.filter((key) => !GEMINI.has(key)));
    if (Array.isArray(one.type) || one.type === "null") found.push("several types, or null");
    if (Array.isArray(one.enum) && !one.enum.every((value) => typeof value === "string")) found.push("enum");
    if (one.anyOf === undefined && one.type === undefined) found.push("no type");
    if (one.anyOf !== undefined && keys.length > 1) found.push(`anyOf beside ${keys.join()}`);
  }
  return found;
}

describe.each(["openai", "gemini", "anthropic"] as const)("for %s", (family) => {
  test.each(ODD.map((schema) => [JSON.stringify(schema).slice(0, 120), schema] as const))(
    "%s is listed as the family takes it, and a difference is named",
    (_text, schema) => {
      const before = refusals(schema, family);
      const { schema: made, changes } = reshape(schema, family);
      expect(refusals(made, family)).toEqual([]);
      if (before.length > 0) expect(changes.length).toBeGreaterThan(0);
      if (changes.length === 0) expect(made).toBe(schema);
      expect(made.type).toBe("object");
    },
  );

  test("what the family takes is listed unchanged", () => {
    const schema = object({ a: { type: "string", description: "a", enum: ["x"] } }, { required: ["a"] });
    expect(reshape(schema, family)).toEqual({ schema, changes: [], count: 2 });
  });
});

test("branches at the top are folded into one object, and the description says what they asked for", () => {
  const { schema, changes } = reshape(COMBINED, "anthropic");
  expect(schema).toEqual(
    object(
      { a: STRING, b: STRING, c: { type: "integer" } },
      { required: ["a"], description: "(exactly one of: b | c)" },
    ),
  );
  expect(changes).toEqual([
    "the schema: the branches of oneOf are one schema",
    "the schema: (exactly one of: b | c)",
  ]);
});

test("a dropped constraint stands in the description of its value, and among the changes", () => {
  const schema = object({
    n: { type: "integer", description: "N.", exclusiveMinimum: 0, multipleOf: 5 },
    c: { const: "x" },
  });
  const { schema: made, changes } = reshape(schema, "gemini");
  expect(made.properties).toEqual({
    n: { type: "integer", description: "N. (more than 0) (multipleOf: 5)", minimum: 0 },
    c: { type: "string", enum: ["x"] },
  });
  expect(changes).toEqual(expect.arrayContaining(["n: (more than 0)", "n: (multipleOf: 5)"]));
});

test("a schema that refers to itself many times is listed within bounds", () => {
  const refs = Object.fromEntries(
    Array.from({ length: 12 }, (_, at) => [`p${at}`, { $ref: `#/$defs/D${at}` }]),
  );
  const $defs = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`D${at}`, object(refs)]));
  const { schema } = reshape(object(refs, { $defs }), "gemini");
  expect(schemasIn(schema).length).toBeLessThan(20_000);
});

test("differences that are too many to be listed are counted", () => {
  const many = Array.from(
    { length: 600 },
    (_, at) => [`p${at}`, { type: "integer", multipleOf: 2 }] as const,
  );
  const { changes } = reshape(object(Object.fromEntries(many)), "gemini");
  expect(changes.at(-1)).toContain("and 100 more");
});

test("the schemas of a long list are reshaped in steps, each once", () => {
  const entries = Array.from({ length: 2_000 }, (_, at) => ({
    route: { upstream: "s", target: `t${at}`, exposed: `t${at}`, kind: "tools" as const },
    item: { name: `t${at}`, inputSchema: { ...COMBINED } },
  }));
  const list = new Snapshot("tools", entries);
  const form = dialectForm("anthropic");
  const steps = () => [...formedInSteps(list, form)].length;
  expect(steps()).toBeGreaterThan(10);
  expect(steps()).toBe(0);
  const [first] = formedTools(list, form).entries;
  expect(first?.item.inputSchema).not.toHaveProperty("oneOf");
});

testOf("schema-checks", "openapi")(
  "a URL lists the schemas of its dialect, calls are checked against the tool's own, and explain tells both",
  async () => {
    const api = await startApi(() => ({ headers: { "content-type": "text/plain" }, body: "done" }));
    const schema = {
      type: "object",
      properties: { kind: { const: "x" }, n: { type: "integer", exclusiveMinimum: 0 } },
    };
    const document = documentOf({
      "/x": {
        post: {
          operationId: "op",
          requestBody: { content: { "application/json": { schema } } },
          responses: { 200: { description: "ok" } },
        },
      },
    });
    const spec = `${folderWith({ "api.json": document })}/api.json`;
    const gateway = await gatewayOf({
      mcpServers: {
        api: {
          type: "openapi",
          spec,
          baseUrl: api.url,
          schemas: { dialect: "openai" },
          checks: { arguments: true },
        },
      },
      profiles: { google: { schemas: { dialect: "gemini" } }, plain: { schemas: { dialect: "none" } } },
    });
    await gateway.start();
    onTestFinished(() => gateway.stop({ immediate: true }));
    const bodyAt = async (at: string) => {
      const [entry] = await gateway.lists("tools", { at });
      const { properties } = (entry?.item.inputSchema ?? {}) as {
        properties: { body: { properties: JsonObject } };
      };
      return properties.body.properties;
    };
    expect(await bodyAt("")).toEqual(schema.properties);
    expect(await bodyAt("plain")).toEqual(schema.properties);
    expect(await bodyAt("api")).toEqual({
      kind: { enum: ["x"] },
      n: { type: "integer", exclusiveMinimum: 0 },
    });
    expect(await bodyAt("google")).toEqual({
      kind: { type: "string", enum: ["x"] },
      n: { type: "integer", minimum: 0, description: "(more than 0)" },
    });
    const explained = await gateway.explain({
      name: "api__op",
      args: { body: { kind: "x", n: 0 } },
      as: "anonymous",
      scopes: [],
    });
    expect(explained).toMatchObject({
      badArguments: expect.stringContaining("n"),
      reshaped: [
        { at: "/mcp/api", dialect: "openai" },
        { at: "/mcp/google", dialect: "gemini", changes: expect.arrayContaining(["body.n: (more than 0)"]) },
      ],
    });
  },
);
