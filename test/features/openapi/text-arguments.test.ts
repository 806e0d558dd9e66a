/** Arguments that a model or host writes as JSON text where the tool's schema admits no text. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../../src/wire/json.js";
import { parseJson, writeJson } from "../../../src/wire/json-text.js";
import { testOf } from "../../support/features.js";
import { gatewayOf } from "../../support/gateway.js";
import { scriptedServer } from "../../support/servers/scripted-http.js";
import { apiGateway } from "./api-gateway.js";

const ok = { responses: { 200: { description: "ok" } } };
const STRING = { type: "string" };
const body = (schema: object) => ({ requestBody: { content: { "application/json": { schema } } } });
const op = (more: object) => ({ "/x": { post: { operationId: "op", ...ok, ...more } } });
const ISSUE = {
  type: "object",
  properties: {
    title: STRING,
    labels: { type: "array", items: STRING },
    count: { type: "integer" },
    meta: { type: "object", properties: { deep: { type: "object" } } },
  },
};

describe("a tool of an HTTP API", () => {
  test.each([
    ['{"title":"a","count":1}', '{"title":"a","count":1}'],
    [' {"title":"{}"}\n', '{"title":"{}"}'],
    [
      { title: '{"a":1}', labels: '["x","y"]', count: "7" },
      '{"title":"{\\"a\\":1}","labels":["x","y"],"count":7}',
    ],
    ['{"meta":"{\\"deep\\":\\"{}\\"}"}', '{"meta":{"deep":{}}}'],
    ['{"count":9007199254740993,"other":1.0}', '{"count":9007199254740993,"other":1.0}'],
    ['{"count":1,"count":2}', '{"count":2}'],
    [{ count: "seven" }, '{"count":"seven"}'],
    [{ title: "7" }, '{"title":"7"}'],
  ])("gets the body %j as %s", async (given, expected) => {
    const { call, asked } = await apiGateway(op(body(ISSUE)));
    await call("api__op", { body: given });
    expect(String(asked[0]?.body)).toBe(expected);
  });

  test.each([
    ["array", '["a"]', ["a"]],
    ["number", "1.50", "1.50"],
    ["integer", "3", 3],
    ["boolean", "true", true],
    ["object", '{"a":1}', { a: 1 }],
    [["object", "null"], "null", null],
  ])("gets a text where its schema says %j as the value: %s", async (type, text, value) => {
    const { call, asked } = await apiGateway(op(body({ type })));
    await call("api__op", { body: text });
    expect(String(asked[0]?.body)).toBe(typeof value === "string" ? value : JSON.stringify(value));
  });

  testOf("policy")("gets a query parameter as the value that rules have seen", async () => {
    const parameters = [{ name: "limit", in: "query", schema: { type: "integer" } }];
    const { call, asked } = await apiGateway(op({ parameters }), {
      config: { policy: { rules: [{ name: "few", tools: ["*"], when: "args.limit > 10", effect: "deny" }] } },
    });
    expect((await call("api__op", { limit: "11" })).isError).toBe(true);
    await call("api__op", { limit: "10" });
    expect(asked.map(({ url }) => url)).toEqual(["/x?limit=10"]);
  });

  test.each([
    [STRING],
    [{ type: ["string", "object"] }],
    [{ anyOf: [{ type: "object" }, STRING] }],
    [{}],
    [{ enum: ['{"a":1}', 2] }],
  ])("gets a text as it is where the schema %j admits it", async (schema) => {
    const { call, asked } = await apiGateway(op(body(schema)));
    await call("api__op", { body: '{"a":1}' });
    expect(JSON.parse(String(asked[0]?.body))).toBe('{"a":1}');
  });

  test.each([
    [{ type: "object" }, "{ a: 1 }"],
    [{ type: "object" }, "[1]"],
    [{ type: "object" }, ""],
    [{ type: "object" }, '"{}"'],
    [{ type: "array" }, "a,b"],
    [{ type: "integer" }, "12px"],
    [{ type: "boolean" }, "yes"],
    [{ $ref: "#/paths/~1x/post/x-object" }, "nothing"],
    [{ allOf: [{ type: "object" }, { properties: {} }] }, "nothing"],
    [{ type: "object" }, '{"__proto__":{"admin":true}}'],
    [{ type: "object" }, '{"a":{"constructor":{"prototype":{"x":1}}}}'],
    [{ type: "object" }, `${'{"a":'.repeat(80)}1${"}".repeat(80)}`],
  ])("with the schema %j is not called with the text %s; the argument is named", async (schema, text) => {
    const { call, asked } = await apiGateway(op({ ...body(schema), "x-object": { type: "object" } }));
    const { isError, content, _meta } = await call("api__op", { body: text });
    expect([isError, content[0]?.text]).toEqual([true, expect.stringContaining('"body"')]);
    expect(_meta).toMatchObject({ "cardea/refusal": { code: "bad_request", retryable: false } });
    expect(asked).toHaveLength(0);
  });

  test("gets texts as they are where the config switches parsing off, for one tool too", async () => {
    const schema = body({ type: "object" });
    const off = await apiGateway(op(schema), { server: { arguments: { parseJsonText: false } } });
    await off.call("api__op", { body: "{}" });
    expect(String(off.asked[0]?.body)).toBe('"{}"');
    const one = await apiGateway(op(schema), {
      server: { overrides: { op: { arguments: { parseJsonText: false } } } },
    });
    await one.call("api__op", { body: "{}" });
    expect(String(one.asked[0]?.body)).toBe('"{}"');
  });

  test("gets a long text parsed", async () => {
    const long = JSON.stringify({
      title: "x".repeat(300_000),
      labels: Array.from({ length: 20_000 }, String),
    });
    const { call, asked } = await apiGateway(op(body(ISSUE)));
    await call("api__op", { body: long });
    expect(String(asked[0]?.body)).toBe(long);
  });

  testOf("policy")("is explained with the arguments that rules see", async () => {
    const { gateway } = await apiGateway(op(body(ISSUE)), {
      config: {
        policy: { rules: [{ name: "no", tools: ["*"], when: "args.body.title == 'x'", effect: "deny" }] },
      },
    });
    const about = (args: JsonObject) =>
      gateway.explain({ name: "api__op", args, as: "anonymous", scopes: [] });
    expect(await about({ body: '{"title":"x"}' })).toMatchObject({ effect: "deny" });
    expect(await about({ body: "no object" })).toMatchObject({
      badArguments: expect.stringContaining('"body"'),
    });
  });
});

/** A server whose tools take `filter` (an object) and `note` (a text); it answers with its arguments as JSON. */
async function serverWith(settings: object, config: object = {}) {
  const inputSchema = {
    type: "object",
    properties: {
      filter: { $ref: "#/$defs/F" },
      note: STRING,
      ids: { type: "array", items: { type: "integer" } },
      loose: { properties: { a: { type: "integer" } } },
    },
    $defs: { F: { type: "object" } },
  };
  const server = await scriptedServer(({ method: verb, body: text }, response) => {
    if (verb !== "POST") return response.writeHead(405).end();
    const { id, method, params } = parseJson(text) as { id?: unknown; method: string; params?: JsonObject };
    if (id === undefined) return response.writeHead(202).end();
    const results: Record<string, unknown> = {
      initialize: {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "s", version: "1" },
      },
      "tools/list": { tools: ["echo", "other"].map((name) => ({ name, inputSchema })) },
      "tools/call": { content: [{ type: "text", text: writeJson(params?.arguments) }] },
    };
    const result = results[method];
    const outcome = result === undefined ? { error: { code: -32601, message: "no" } } : { result };
    return response
      .writeHead(200, { "content-type": "application/json" })
      .end(writeJson({ jsonrpc: "2.0", id, ...outcome }));
  });
  const gateway = await gatewayOf({
    ...config,
    mcpServers: { s: { type: "http", url: server.url, protocol: "legacy", ...settings } },
  });
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    await server.close();
  });
  return async (name: string, args: JsonObject) => {
    const reply = await gateway.call(name, args);
    if (reply.kind !== "result") throw new Error("no result");
    const { content, isError } = reply.result.object as { content: { text: string }[]; isError?: boolean };
    return isError === true ? { refused: content[0]?.text } : content[0]?.text;
  };
}

describe("a tool of a server", () => {
  test("gets texts as they are, by default", async () => {
    const call = await serverWith({});
    expect(await call("s__echo", { filter: '{"a":1}' })).toBe('{"filter":"{\\"a\\":1}"}');
  });

  test("gets them parsed where the config asks for it and the schema admits no text", async () => {
    const call = await serverWith({ arguments: { parseJsonText: true } });
    expect(await call("s__echo", { filter: '{"a":1.0}', note: "{}", ids: '[1,"2"]' })).toBe(
      '{"filter":{"a":1.0},"note":"{}","ids":[1,2]}',
    );
    expect(await call("s__echo", { loose: '{"a":"1"}' })).toBe('{"loose":{"a":1}}');
    expect(await call("s__echo", { loose: "text", unknown: "{}" })).toBe('{"loose":"text","unknown":"{}"}');
    expect(await call("s__echo", { filter: "a=1" })).toEqual({
      refused: expect.stringContaining('"filter"'),
    });
  });

  test("of which only one is named in the config", async () => {
    const call = await serverWith({ overrides: { echo: { arguments: { parseJsonText: true } } } });
    expect(await call("s__echo", { filter: "{}" })).toBe('{"filter":{}}');
    expect(await call("s__other", { filter: "{}" })).toBe('{"filter":"{}"}');
  });

  testOf("policy")("is ruled by what it gets", async () => {
    const call = await serverWith(
      { arguments: { parseJsonText: true } },
      {
        policy: {
          rules: [{ name: "no-prod", tools: ["*"], when: "args.filter.env == 'prod'", effect: "deny" }],
        },
      },
    );
    expect(await call("s__echo", { filter: '{"env":"prod"}' })).toEqual({
      refused: expect.stringContaining("not allowed"),
    });
    expect(await call("s__echo", { filter: '{"env":"test"}' })).toBe('{"filter":{"env":"test"}}');
  });

  test("gets fixed arguments instead of any text", async () => {
    const call = await serverWith({
      arguments: { parseJsonText: true },
      overrides: { echo: { arguments: { fixed: { filter: { env: "test" } } } } },
    });
    expect(await call("s__echo", { filter: "nonsense" })).toBe('{"filter":{"env":"test"}}');
  });
});
