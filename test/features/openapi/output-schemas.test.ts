/** Answers of APIs that do not keep their documents: what hosts list and get, with the official SDKs as hosts. */
import "../admin/needed.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../../src/wire/json.js";
import { documentOf } from "../../support/api.js";
import type { HostKind } from "../../support/peers/host.js";
import { SDK_1, SDK_2_LEGACY, SDK_2_MODERN } from "../../support/peers/sdk.js";
import { sample } from "../../support/sample.js";
import { apiGateway } from "./api-gateway.js";
import { openApi } from "./open-api.js";

const HOSTS = [...sample("legacy hosts of output schemas", [SDK_1, SDK_2_LEGACY], 1), SDK_2_MODERN].map(
  (kind): [string, HostKind] => [kind.name, kind],
);
const ORDER = {
  type: "object",
  additionalProperties: false,
  required: ["id", "status"],
  properties: {
    id: { type: "integer", minimum: 1 },
    status: { type: "string", enum: ["open", "closed"], description: "Its state." },
    kind: { const: "order" },
    name: { type: "string", maxLength: 5, pattern: "^[a-z]+$", format: "email" },
    when: { type: "string", format: "date-time" },
    lines: {
      type: "array",
      minItems: 1,
      uniqueItems: true,
      items: { $ref: "#/components/schemas/Line" },
    },
    extra: { type: "object", additionalProperties: { type: "number" } },
    owner: {
      oneOf: [
        { type: "object", required: ["user"], properties: { user: { type: "string" } } },
        { type: "object", required: ["team"], properties: { team: { type: "string" } } },
      ],
    },
  },
};
const LINE = {
  allOf: [{ type: "object", properties: { sku: { type: "string" } }, required: ["sku"] }],
  properties: { parent: { $ref: "#/components/schemas/Line" } },
  not: { required: ["forbidden"] },
};
const PATHS = {
  "/order": {
    get: {
      operationId: "order",
      responses: {
        200: {
          description: "ok",
          content: { "application/json": { schema: { $ref: "#/components/schemas/Order" } } },
        },
      },
    },
  },
};
const COMPONENTS = { components: { schemas: { Order: ORDER, Line: LINE } } };

/** A gateway whose API answers with `body`. */
const answering = (body: string, headers: Record<string, string> = { "content-type": "application/json" }) =>
  apiGateway(PATHS, { answer: () => ({ headers, body }), document: COMPONENTS });

const KEPT: readonly (readonly [string, object])[] = [
  ["null", { id: 1, status: null, lines: null, owner: null, extra: { a: null } }],
  ["an extra member", { id: 1, status: "open", more: { x: 1 }, lines: [{ sku: "a", y: 2 }] }],
  ["a new enum value", { id: 1, status: "lost", kind: "invoice" }],
  ["a missing member", { lines: [{}] }],
  ["texts that are longer, or of another format", { id: 1, name: "Much Longer", when: "yesterday" }],
  ["numbers beyond their bounds", { id: -1.5 }],
  ["an empty list, and one with duplicates", { lines: [], extra: { a: 1 } }],
  ["a choice that fits none or both", { owner: { user: "a", team: "b" } }],
  ["a choice that is new", { owner: { robot: 7 } }],
  ["what the document forbids", { lines: [{ forbidden: 1, parent: { parent: null } }] }],
];

describe.each(HOSTS)("%s", (name, kind) => {
  test.each(sample(`kept answers for ${name}`, KEPT, 4))(
    "gets the structured content of an answer with %s",
    async (_what, answer) => {
      const { url } = await answering(JSON.stringify(answer));
      const host = await kind.connect({ url });
      onTestFinished(() => host.close());
      await host.list("tools");
      const { result } = await host.request("tools/call", { name: "api__order", arguments: {} });
      expect(result).toMatchObject({ structuredContent: answer });
      expect(result?.isError).not.toBe(true);
    },
  );

  test.each([
    ["a text for a list", { id: 1, lines: "none" }, "lines must be array or null, not string"],
    [
      "a number for a text, deep inside",
      { lines: [{ sku: "a" }, { parent: { sku: 5 } }] },
      "lines[1].parent.sku",
    ],
    ["a text for a number, under another name", { extra: { secret: "x" } }, "extra.* must be number"],
    ["a list for the object", [1, 2], "declares a JSON object"],
    ["a text for the object", "done", "declares a JSON object"],
  ])("gets the whole text of an answer that has %s, and why", async (_what, answer, reason) => {
    const body = JSON.stringify(answer);
    const { url, gateway, adminUrl } = await answering(body);
    const host = await kind.connect({ url });
    onTestFinished(() => host.close());
    await host.list("tools");
    const { result, error } = await host.request("tools/call", { name: "api__order", arguments: {} });
    expect(error).toBeUndefined();
    expect(result).not.toHaveProperty("structuredContent");
    const [first, note] = (result as { content: readonly { text: string }[] }).content;
    expect(first?.text).toBe(body);
    expect(note?.text).toContain("The call succeeded");
    expect(note?.text).toContain(reason);
    await gateway.call("api__order", {});
    const page = (await (await fetch(`${adminUrl}/api/v1/servers`)).json()) as readonly JsonObject[];
    expect(page[0]?.misfits).toEqual([{ tool: "order", reason: expect.stringContaining(reason), count: 2 }]);
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
    expect(metrics).toContain('cardea_answer_misfits_total{server="api"} 2');
  });
});

test.each([
  ["no body", "", {}],
  ["HTML", "<p>fine</p>", { "content-type": "text/html" }],
  ["an image", "PNG", { "content-type": "image/png" }],
])(
  "an answer with %s where the document declares an object is whole, and an error for hosts",
  async (_what, body, headers) => {
    const { call } = await answering(body, headers);
    const { content, isError } = await call("api__order", {});
    expect(isError).toBe(true);
    expect(content.at(-1)?.text).toContain("The call succeeded");
    expect(content).toHaveLength(body === "" ? 1 : 2);
  },
);

test("a listed output schema has names, types and texts, and no other constraint", async () => {
  const { tools } = await openApi(documentOf(PATHS, COMPONENTS));
  const [tool] = await tools();
  expect(tool?.outputSchema).toMatchObject({
    type: "object",
    properties: {
      id: { type: ["number", "null"] },
      status: { type: ["string", "null"], description: 'Its state. ("open", "closed")' },
      kind: { description: '("order")' },
      lines: { type: ["array", "null"], items: { $ref: "#/$defs/Line" } },
    },
  });
  const words = JSON.stringify(tool?.outputSchema);
  for (const keyword of ["required", "enum", "oneOf", "pattern", "format", "not", "minItems", "const"])
    expect(words).not.toContain(`"${keyword}"`);
  expect(() =>
    new Ajv2020({ strict: true, strictTypes: false }).compile(tool?.outputSchema as object),
  ).not.toThrow();
});

test("a long answer that does not fit is written in steps, as it would be at once", async () => {
  const lines = Array.from({ length: 20_000 }, (_, at) => ({ sku: at }));
  const { call } = await answering(JSON.stringify({ lines }));
  const { content, isError } = await call("api__order", {});
  expect([isError, content[0]?.text?.length, content.length]).toEqual([
    true,
    JSON.stringify({ lines }).length,
    2,
  ]);
});
