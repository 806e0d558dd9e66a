/** Results in the form each legacy revision knows. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import type { Reply } from "../../../src/core/call.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { Payload } from "../../../src/wire/payload.js";
import { errorReply, resultReply } from "../../support/fake-port.js";
import { edgeHost, type Message } from "./support.js";

interface Case {
  readonly method?: string;
  readonly version?: string;
  readonly tools?: Readonly<Record<string, JsonObject>>;
}

/** What a host gets for `reply`. */
async function seen(
  reply: Reply,
  { method = "tools/call", version = "2025-11-25", tools = {} }: Case = {},
): Promise<Message> {
  const { host } = await edgeHost({ handlers: { [method]: () => reply }, tools }, { version });
  return await host.request(method, { name: "t", uri: "x:a" });
}

const resultOf = async (result: JsonObject, how?: Case) => (await seen(resultReply(result), how)).result;

describe("members of the modern era", () => {
  test("are removed, wherever they come from, and nothing else", async () => {
    const modern = {
      resultType: "complete",
      ttlMs: 5,
      cacheScope: "private",
      content: [{ type: "text", text: "resultType" }],
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "s" }, vendor: 1 },
      vendor: { ttlMs: 1 },
    };
    const clean = { content: modern.content, _meta: { vendor: 1 }, vendor: { ttlMs: 1 } };
    expect(await resultOf(modern)).toEqual(clean);
    const text: Reply = { kind: "result", result: Payload.ofText(JSON.stringify(modern)) };
    expect((await seen(text)).result).toEqual(clean);
    const bytes: Reply = { kind: "result", result: Payload.ofText(Buffer.from(JSON.stringify(modern))) };
    expect((await seen(bytes, { method: "tools/list" })).result).toEqual(clean);
  });

  test("an empty _meta is removed", async () => {
    const meta = { "io.modelcontextprotocol/serverInfo": { name: "s" } };
    expect(await resultOf({ content: [], _meta: meta })).toEqual({ content: [] });
  });
});

describe("content blocks", () => {
  const link = {
    type: "resource_link",
    uri: "x:a",
    name: "a",
    title: "The A",
    description: "first letter",
    _meta: { m: 1 },
    annotations: { priority: 1 },
  };
  const audio = { type: "audio", data: "AAAAAAAA", mimeType: "audio/wav" };
  const odd = { type: "hologram", vendor: true };
  const text = { type: "text", text: "t" };

  test("a resource link becomes text before 2025-06-18, audio before 2025-03-26", async () => {
    const content = [text, link, audio, odd];
    const linkText = {
      type: "text",
      text: "Resource The A: x:a\nfirst letter",
      _meta: { m: 1 },
      annotations: { priority: 1 },
    };
    const audioText = { type: "text", text: expect.stringContaining("audio/wav, about 6 bytes") };
    expect(await resultOf({ content }, { version: "2025-11-25" })).toEqual({ content });
    expect(await resultOf({ content }, { version: "2025-06-18" })).toEqual({ content });
    expect(await resultOf({ content }, { version: "2025-03-26" })).toEqual({
      content: [text, linkText, audio, odd],
    });
    expect(await resultOf({ content }, { version: "2024-11-05" })).toEqual({
      content: [text, linkText, audioText, odd],
    });
  });

  test("in prompts too", async () => {
    const messages = [
      { role: "user", content: link, vendor: 1 },
      { role: "user", content: text },
    ];
    const older = await resultOf(
      { description: "d", messages },
      { method: "prompts/get", version: "2024-11-05" },
    );
    expect(older).toMatchObject({
      description: "d",
      messages: [
        { role: "user", vendor: 1, content: { type: "text" } },
        { role: "user", content: text },
      ],
    });
  });

  test("similar objects are left unchanged", async () => {
    const result = {
      content: [{ type: "text", text: '"audio"' }, "audio", null],
      structuredContent: { type: "audio" },
    };
    expect(await resultOf(result, { version: "2024-11-05" })).toEqual(result);
    expect(await resultOf({ content: link }, { version: "2024-11-05", method: "x/y" })).toEqual({
      content: link,
    });
  });
});

describe("structured content", () => {
  test.each([[[1, 2]], ["text"], [42], [null], [false]])(
    "%j goes into an object, and into text",
    async (value) => {
      expect(await resultOf({ content: [], structuredContent: value })).toEqual({
        structuredContent: { result: value },
        content: [{ type: "text", text: JSON.stringify(value) }],
      });
    },
  );

  test("gets no text added where the server sent some", async () => {
    const content = [{ type: "text", text: "one and two" }];
    expect(await resultOf({ content, structuredContent: [1, 2] })).toEqual({
      content,
      structuredContent: { result: [1, 2] },
    });
  });

  test("stays as it is where it is an object, or where the host knows nothing of it", async () => {
    const result = { content: [], structuredContent: { a: [1] } };
    expect(await resultOf(result)).toEqual(result);
    const array = { content: [], structuredContent: [1] };
    expect(await resultOf(array, { version: "2025-03-26" })).toEqual(array);
    for (const text of [JSON.stringify(result), JSON.stringify({ a: result, structuredContent: [1] })]) {
      const reply: Reply = { kind: "result", result: Payload.ofText(text) };
      const { structuredContent } = (await seen(reply)).result ?? {};
      expect(structuredContent).toEqual(text.startsWith('{"a"') ? { result: [1] } : { a: [1] });
    }
  });

  test("is wrapped as the list says it is, also where this one is an object", async () => {
    const anyOf = { outputSchema: { anyOf: [{ type: "object" }, { type: "array" }] } };
    const result = { content: [], structuredContent: { a: 1 } };
    expect(await resultOf(result, { tools: { t: anyOf } })).toMatchObject({
      structuredContent: { result: { a: 1 } },
    });
    expect(await resultOf(result, { tools: { t: { outputSchema: { type: "object" } } } })).toEqual(result);
  });
});

describe("output schemas", () => {
  const listed = async (outputSchema: JsonObject, version?: string) => {
    const tools = [
      { name: "plain", inputSchema: {} },
      { name: "t", outputSchema, vendor: 1 },
    ];
    const result = await resultOf(
      { tools, nextCursor: "c" },
      { method: "tools/list", ...(version && { version }) },
    );
    const listedTools = result?.tools as { outputSchema: JsonObject }[];
    return listedTools[1] ?? { outputSchema: {} };
  };

  test("with an object at the root are left alone, and so is everything for hosts that do not know them", async () => {
    const object = { type: "object", properties: { $ref: { $ref: "#/$defs/x" } } };
    expect((await listed(object)).outputSchema).toEqual(object);
    expect((await listed({ type: "array" }, "2025-03-26")).outputSchema).toEqual({ type: "array" });
  });

  test("with another root go into one that has an object, and their references still lead to the same place", async () => {
    const natural = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "array",
      items: { $ref: "#/$defs/node" },
      $defs: {
        node: {
          type: "object",
          properties: { next: { $ref: "#/$defs/node" }, all: { $ref: "#" }, $ref: { type: "string" } },
          required: ["id"],
          default: { $ref: "#/not/a/reference" },
        },
      },
    };
    const { outputSchema } = await listed(natural);
    expect(outputSchema).toMatchObject({ $schema: natural.$schema, type: "object", required: ["result"] });
    expect(JSON.stringify(outputSchema)).toContain('"default":{"$ref":"#/not/a/reference"}');
    const ajv = new Ajv2020({ strict: false });
    const before = ajv.compile(natural);
    const after = ajv.compile(outputSchema);
    for (const value of [
      [],
      [{ id: 1 }],
      [{}],
      [{ id: 1, next: {} }],
      [{ id: 1, all: [{}] }],
      [{ id: 1, $ref: 2 }],
      {},
    ]) {
      expect(after({ result: value })).toBe(before(value));
    }
  });

  test("with an id of their own keep their references", async () => {
    const natural = {
      $id: "https://x.test/s",
      type: "array",
      items: { $ref: "#/$defs/a" },
      $defs: { a: {} },
    };
    expect((await listed(natural)).outputSchema).toEqual({
      type: "object",
      properties: { result: natural },
      required: ["result"],
    });
  });
});

describe("errors", () => {
  test("a missing resource has the code it had before 2026-07-28", async () => {
    const missing = errorReply(-32602, "not there", { uri: "x:a", more: 1 });
    expect((await seen(missing, { method: "resources/read" })).error).toEqual({
      code: -32002,
      message: "not there",
      data: { uri: "x:a", more: 1 },
    });
    expect((await seen(missing, { method: "tools/call" })).error?.code).toBe(-32602);
    expect((await seen(errorReply(-32602, "bad"), { method: "resources/read" })).error?.code).toBe(-32602);
  });

  test("a missing capability of the host is an error result of a tool, and an error code elsewhere", async () => {
    const lacking = errorReply(-32021, "this needs roots", { requiredCapabilities: { roots: {} } });
    expect((await seen(lacking)).result).toEqual({
      content: [{ type: "text", text: "this needs roots" }],
      isError: true,
    });
    expect((await seen(lacking, { method: "resources/read" })).error).toEqual({
      code: -32603,
      message: "this needs roots",
      data: { requiredCapabilities: { roots: {} } },
    });
  });

  test("a URL to open first is text for hosts without URL elicitation", async () => {
    const required = errorReply(-32042, "Sign in first.", {
      elicitations: [{ mode: "url", url: "https://x.test/in", message: "Please go to", elicitationId: "e" }],
    });
    expect((await seen(required)).error?.code).toBe(-32042);
    expect((await seen(required, { version: "2025-06-18" })).result).toEqual({
      content: [{ type: "text", text: "Sign in first.\nPlease go to https://x.test/in" }],
      isError: true,
    });
    expect((await seen(required, { version: "2025-06-18", method: "resources/read" })).error).toEqual({
      code: -32603,
      message: "Sign in first.\nPlease go to https://x.test/in",
    });
  });
});
