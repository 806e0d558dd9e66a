/** Which tools an OpenAPI document makes, and what a host reads of them. */
import { describe, expect, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { documentOf } from "../../support/api.js";
import { openApi } from "./open-api.js";

const ok = { responses: { 200: { description: "ok" } } };
const path = (name: string, schema: object = { type: "string" }) => ({
  name,
  in: "path",
  required: true,
  schema,
});
const json = (schema: object) => ({ content: { "application/json": { schema } } });

describe("names", () => {
  test("an operation is called by its operationId, else by method and path", async () => {
    const { tools } = await openApi(
      documentOf({
        "/": { get: ok },
        "/pets": { get: { operationId: "listPets", ...ok }, post: ok },
        "/pets/{petId}": { get: ok },
        "/pets/{petId}/toys/{id}.json": { delete: ok },
      }),
    );
    expect((await tools()).map(({ name }) => name)).toEqual([
      "get",
      "listPets",
      "post_pets",
      "get_pets_by_petId",
      "delete_pets_by_petId_toys_by_id_json",
    ]);
  });

  test("a duplicate operationId names the first operation only", async () => {
    const twice = { operationId: "same", ...ok };
    const { tools } = await openApi(documentOf({ "/a": { get: twice }, "/b": { get: twice } }));
    expect((await tools()).map(({ name }) => name)).toEqual(["same", "get_b"]);
  });
});

test("include requires every list to match, exclude one of them", async () => {
  const document = documentOf({
    "/pets": { get: { tags: ["pets"], ...ok }, post: { tags: ["pets"], ...ok } },
    "/pets/{id}": { get: { tags: ["pets", "single"], ...ok }, delete: { tags: ["pets"], ...ok } },
    "/admin/users": { get: { tags: ["admin"], ...ok } },
  });
  const names = async (filters: object) => {
    const { tools } = await openApi(document, filters);
    return (await tools()).map(({ name }) => name);
  };
  expect(await names({ include: { tags: ["pets"], methods: ["get"] } })).toEqual([
    "get_pets",
    "get_pets_by_id",
  ]);
  expect(
    await names({ include: { paths: ["/pets*"] }, exclude: { tags: ["sing*"], methods: ["delete"] } }),
  ).toEqual(["get_pets", "post_pets"]);
  expect(await names({ exclude: { paths: ["/admin/*"] } })).not.toContain("get_admin_users");
});

test("annotations follow from the HTTP method", async () => {
  const { tools } = await openApi(
    documentOf({ "/a": { get: ok, put: ok, post: ok, delete: ok, patch: ok } }),
  );
  const hints = Object.fromEntries((await tools()).map(({ name, annotations }) => [name, annotations]));
  expect(hints).toMatchObject({
    get_a: { readOnlyHint: true, destructiveHint: false },
    put_a: { readOnlyHint: false, idempotentHint: true },
    post_a: { readOnlyHint: false, idempotentHint: false },
    delete_a: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    patch_a: { destructiveHint: true, idempotentHint: false },
  });
});

test("title and description come from the document", async () => {
  const { tools } = await openApi(
    documentOf({ "/a": { get: { summary: "Short", description: "Long.", deprecated: true, ...ok } } }),
  );
  expect(await tools()).toMatchObject([{ title: "Short", description: "Deprecated.\n\nShort\n\nLong." }]);
});

describe("arguments", () => {
  test("are flat, by parameter name; a duplicate name gets its location as prefix; the body is body", async () => {
    const { tools } = await openApi(
      documentOf({
        "/pets/{id}": {
          parameters: [path("id"), { name: "id", in: "query", schema: { type: "integer" } }],
          put: {
            parameters: [
              { name: "body", in: "header", schema: { type: "string" } },
              { name: "id", in: "query", description: "which", required: true, schema: { type: "number" } },
              { name: "Authorization", in: "header", schema: { type: "string" } },
            ],
            requestBody: { required: true, description: "The pet.", ...json({ type: "object" }) },
            ...ok,
          },
        },
      }),
    );
    const [tool] = await tools();
    expect(tool?.inputSchema).toEqual({
      type: "object",
      properties: {
        id: { type: "string" },
        query_id: { type: "number", description: "which" },
        header_body: { type: "string" },
        body: { type: "object", description: "The pet." },
      },
      required: ["id", "query_id", "body"],
      additionalProperties: false,
    });
  });

  test("an undocumented path parameter is added", async () => {
    const { tools } = await openApi(documentOf({ "/a/{b}": { get: ok } }));
    expect((await tools())[0]?.inputSchema).toMatchObject({
      properties: { b: { type: "string" } },
      required: ["b"],
    });
  });

  test("configured arguments are not required", async () => {
    const parameters = [
      { name: "X-Api-Key", in: "header", required: true, schema: { type: "string" } },
      { name: "key", in: "query", required: true, schema: { type: "string" } },
      { name: "page", in: "query", schema: { type: "integer" } },
    ];
    const { tools } = await openApi(documentOf({ "/a": { get: { parameters, ...ok } } }), {
      headers: { "x-api-key": "k" },
      baseUrl: "http://127.0.0.1:9/v1?key=k",
    });
    expect(Object.keys((await tools())[0]?.inputSchema.properties ?? {})).toEqual(["page"]);
  });
});

describe("schemas", () => {
  const input = async (version: string, body: object, components: object = {}) => {
    const { tools } = await openApi(
      documentOf(
        { "/a": { post: { requestBody: json(body), ...ok } } },
        { openapi: version, components: { schemas: components } },
      ),
    );
    const schema = (await tools())[0]?.inputSchema;
    return { body: schema?.properties.body, $defs: schema?.$defs };
  };

  test("of 3.0 become JSON Schema 2020-12", async () => {
    const { body } = await input("3.0.3", {
      type: "object",
      required: ["a", "id"],
      properties: {
        id: { type: "integer", readOnly: true },
        a: { type: "string", nullable: true, enum: ["x"], example: "x", xml: {}, "x-more": 1 },
        b: { type: "integer", minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
        c: { type: "string", format: "byte" },
        d: { nullable: true, allOf: [{ type: "object" }] },
        nullable: { type: "boolean" },
      },
      discriminator: { propertyName: "a" },
    });
    expect(body).toEqual({
      type: "object",
      required: ["a"],
      properties: {
        a: { type: ["string", "null"], enum: ["x", null], examples: ["x"] },
        b: { type: "integer", exclusiveMinimum: 1, maximum: 9 },
        c: { type: "string", contentEncoding: "base64" },
        d: { anyOf: [{ allOf: [{ type: "object" }] }, { type: "null" }] },
        nullable: { type: "boolean" },
      },
    });
  });

  test("of 3.1 stay as they are, a description beside a reference too", async () => {
    const { body, $defs } = await input(
      "3.1.0",
      {
        type: ["object", "null"],
        properties: { owner: { $ref: "#/components/schemas/Owner", description: "who" } },
        if: { required: ["owner"] },
        exclusiveMinimum: 3,
      },
      {
        Owner: {
          type: "object",
          properties: { friends: { type: "array", items: { $ref: "#/components/schemas/Owner" } } },
        },
      },
    );
    expect(body).toEqual({
      type: ["object", "null"],
      properties: { owner: { $ref: "#/$defs/Owner", description: "who" } },
      if: { required: ["owner"] },
      exclusiveMinimum: 3,
    });
    expect($defs).toEqual({
      Owner: { type: "object", properties: { friends: { type: "array", items: { $ref: "#/$defs/Owner" } } } },
    });
  });

  test("definitions beyond 64 KiB accept anything, with a note", async () => {
    const refs = ["A", "B", "C"].map((name) => ({ $ref: `#/components/schemas/${name}` }));
    const long = { type: "object", description: "*long" };
    const document = documentOf(
      { "/a": { post: { requestBody: json({ allOf: refs }), ...ok } } },
      { components: { schemas: { A: { ...long, description: "&long" }, B: long, C: long } } },
    );
    // With YAML's aliases the document itself stays so short that no thread is needed, which only the built program can start.
    const words = "x".repeat(25_000);
    const yaml = `---\n${JSON.stringify(document)}`
      .replace('"&long"', ` &long "${words}"`)
      .replaceAll('"*long"', " *long ");
    const { tools } = await openApi(yaml);
    expect((await tools())[0]?.inputSchema.$defs).toMatchObject({
      A: { description: words },
      B: { description: words },
      C: { description: expect.stringContaining("too long") },
    });
  });

  test("an unresolved reference accepts anything, with a warning", async () => {
    const warnings: string[] = [];
    const log = { ...SILENT, warn: (_facts: object, sentence: string) => void warnings.push(sentence) };
    const document = documentOf({
      "/a": { post: { requestBody: json({ $ref: "#/components/schemas/Lost" }), ...ok } },
    });
    const { tools } = await openApi(document, {}, log);
    expect((await tools())[0]?.inputSchema.properties.body).toEqual({});
    expect(warnings).toEqual([expect.stringContaining("#/components/schemas/Lost leads nowhere")]);
  });
});

describe("output schemas", () => {
  const output = async (responses: object, components: object = {}) => {
    const { tools } = await openApi(
      documentOf({ "/a": { get: { responses } } }, { components: { schemas: components } }),
    );
    return (await tools())[0]?.outputSchema;
  };

  test("exist if the only success is a JSON object", async () => {
    expect(
      await output(
        { 200: json({ $ref: "#/components/schemas/Pet" }), 404: json({ type: "string" }) },
        {
          Pet: { type: "object", properties: { name: { type: "string" }, secret: { writeOnly: true } } },
        },
      ),
    ).toEqual({ type: "object", properties: { name: { type: ["string", "null"] } } });
  });

  test.each([
    ["a list", { 200: json({ type: "array" }) }],
    ["null", { 200: json({ type: ["object", "null"] }) }],
    ["an answer without a body", { 200: json({ type: "object" }), 204: { description: "none" } }],
    [
      "another media type",
      { 200: { content: { "application/json": { schema: { type: "object" } }, "text/csv": {} } } },
    ],
    ["something without a schema", { 200: { description: "ok" } }],
  ])("are omitted if the success may be %s", async (_, responses) => {
    expect(await output(responses)).toBeUndefined();
  });

  // Without a memory of what was looked at this takes 20 to the tenth steps.
  test("of schemas with very many references are decided at once", async () => {
    const layer = (at: number): object => ({
      oneOf: Array.from({ length: 20 }, () => ({ $ref: `#/components/schemas/L${at + 1}` })),
    });
    const layers = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`L${at}`, layer(at)]));
    const schema = { 200: json({ $ref: "#/components/schemas/L0" }) };
    expect(await output(schema, { ...layers, L12: { type: "string" } })).toBeUndefined();
    expect(await output(schema, { ...layers, L12: { type: "object" } })).toBeDefined();
  });
});

test("operations at another server are omitted, with a warning, unless the config sets the base URL", async () => {
  const document = documentOf({
    "/a": { get: ok },
    "/upload": { post: { servers: [{ url: "https://uploads.example.com" }], ...ok } },
  });
  const warnings: string[] = [];
  const log = { ...SILENT, warn: (_facts: object, sentence: string) => void warnings.push(sentence) };
  const without = await openApi(document, {}, log);
  expect((await without.tools()).map(({ name }) => name)).toEqual(["get_a"]);
  expect(warnings).toEqual([expect.stringContaining("POST /upload is left out")]);
  const withBase = await openApi(document, { baseUrl: "https://uploads.example.com" });
  expect(await withBase.tools()).toHaveLength(2);
});
