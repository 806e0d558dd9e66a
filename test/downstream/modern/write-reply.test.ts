/** Replies as this era writes them, however their results were carried. */

import { describe, expect, test } from "vitest";
import type { Call, Reply } from "../../../src/core/call.js";
import { ANONYMOUS } from "../../../src/core/client.js";
import { replyWriter, type SerializedResponse } from "../../../src/downstream/modern/write-reply.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { META } from "../../../src/wire/names.js";
import { Payload } from "../../../src/wire/payload.js";
import { errorReply } from "../../support/fake-port.js";
import fc from "../../support/fast-check.js";

const OWN = { name: "cardea", version: "1" };
const write = replyWriter(OWN);

const callOf = (method: string, more: Partial<Call> = {}): Call => ({
  id: 1,
  method,
  params: {},
  client: { principal: ANONYMOUS, affinity: "a", session: false, endpoint: "", capabilities: {} },
  signal: new AbortController().signal,
  notify: () => {},
  ...more,
});

const textOf = ({ pieces }: SerializedResponse): string => pieces.map(String).join("");
const resultOf = (response: SerializedResponse): JsonObject =>
  (JSON.parse(textOf(response)) as { result: JsonObject }).result;

/** The same object carried in each way a payload can carry it. */
const carried = (object: JsonObject): readonly Payload[] => [
  Payload.ofObject(object),
  Payload.ofText(JSON.stringify(object)),
  Payload.ofText(Buffer.from(JSON.stringify(object, null, 2))),
];

const written = (
  method: string,
  object: JsonObject,
  reply: Partial<Reply & { kind: "result" }> = {},
  more = {},
) =>
  carried(object).map((result) =>
    resultOf(write(7, callOf(method, more), { kind: "result", result, ...reply })),
  );

const ME = { _meta: { [META.serverInfo]: OWN } };

describe("a result", () => {
  test.each<[string, string, JsonObject, JsonObject]>([
    [
      "gets a type and a server",
      "tools/call",
      { content: [] },
      { content: [], resultType: "complete", ...ME },
    ],
    ["may be empty", "completion/complete", {}, { resultType: "complete", ...ME }],
    [
      "keeps its own type",
      "tools/call",
      { resultType: "task", taskId: "t" },
      { resultType: "task", taskId: "t", ...ME },
    ],
    [
      "keeps its own metadata, and who really answered",
      "tools/call",
      { a: 1, _meta: { x: 1, [META.serverInfo]: { name: "theirs" } } },
      {
        a: 1,
        resultType: "complete",
        _meta: { x: 1, [META.serverInfo]: OWN, "cardea/upstreamServerInfo": { name: "theirs" } },
      },
    ],
    [
      "is not fooled by the same words further down",
      "tools/call",
      { content: [{ _meta: { a: 1 }, resultType: "x", ttlMs: 5 }] },
      { content: [{ _meta: { a: 1 }, resultType: "x", ttlMs: 5 }], resultType: "complete", ...ME },
    ],
    [
      "that may be cached gets hints",
      "tools/list",
      { tools: [] },
      { tools: [], resultType: "complete", ttlMs: 0, cacheScope: "private", ...ME },
    ],
    [
      "that may be cached has its own hints replaced by those of the reply",
      "resources/read",
      { contents: [], ttlMs: -5, cacheScope: "public" },
      { contents: [], resultType: "complete", ttlMs: 0, cacheScope: "private", ...ME },
    ],
    [
      "that is not complete gets no hints",
      "resources/read",
      { resultType: "task" },
      { resultType: "task", ...ME },
    ],
  ])("%s", (_what, method, object, expected) => {
    for (const result of written(method, object)) expect(result).toEqual(expected);
  });

  test("leaves out which tools run as tasks: that is for legacy hosts", () => {
    const tools = [
      { name: "a", execution: { taskSupport: "required" } },
      { name: "b", execution: { taskSupport: "optional", "v/x": 1 } },
      { name: "c", inputSchema: { properties: { taskSupport: {} } } },
    ];
    for (const result of written("tools/list", { tools, nextCursor: "n" })) {
      expect(result).toMatchObject({ nextCursor: "n" });
      expect(result.tools).toEqual([{ name: "a" }, { name: "b", execution: { "v/x": 1 } }, tools[2]]);
    }
    for (const result of written("tools/call", { tools })) expect(result.tools).toEqual(tools);
  });

  test("has no header annotation that hosts would leave the tool out for", () => {
    const schemaOf = (properties: object) => ({ type: "object", properties });
    const right = { name: "right", inputSchema: schemaOf({ a: { type: "string", "x-mcp-header": "A" } }) };
    const wrong = {
      name: "wrong",
      inputSchema: schemaOf({
        a: { type: "string", "x-mcp-header": "A" },
        b: { type: "object", "x-mcp-header": "B", default: { "x-mcp-header": "data" } },
        "x-mcp-header": { items: { "x-mcp-header": 5 } },
      }),
    };
    for (const result of written("tools/list", { tools: [right, wrong] })) {
      const properties = {
        a: { type: "string" },
        b: { type: "object", default: { "x-mcp-header": "data" } },
        "x-mcp-header": { items: {} },
      };
      expect(result.tools).toEqual([right, { name: "wrong", inputSchema: schemaOf(properties) }]);
    }
  });

  test("carries the freshness of the reply, except for a later round, which must not be kept", () => {
    const freshness = { ttlMs: 5_000, scope: "public" } as const;
    const hints = (more: object) => written("resources/read", { contents: [] }, { freshness }, more);
    for (const result of hints({})) expect(result).toMatchObject({ ttlMs: 5_000, cacheScope: "public" });
    for (const result of hints({ inputResponses: { responses: {} } })) {
      expect(result).toMatchObject({ ttlMs: 0, cacheScope: "private" });
    }
  });

  test.each([
    [1.5, 1],
    [-1, 0],
    [Number.POSITIVE_INFINITY, 0],
    [1e300, Number.MAX_SAFE_INTEGER],
  ])("has a time of %d to be kept written as %d", (ttlMs, expected) => {
    for (const result of written("tools/list", { tools: [] }, { freshness: { ttlMs, scope: "public" } })) {
      expect(result).toMatchObject({ ttlMs: expected });
    }
  });

  test("says the same however it was carried, and loses nothing", () => {
    const key = fc.constantFrom("a", "_meta", "resultType", "ttlMs", "__proto__", 'q"', "\u2028");
    const object = fc.dictionary(key, fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true });
    fc.assert(
      fc.property(object, fc.constantFrom("tools/call", "tools/list"), (made, method) => {
        const sent = JSON.parse(JSON.stringify(made)) as JsonObject;
        const [first, ...others] = written(method, sent);
        for (const other of others) expect(other).toEqual(first);
        for (const [name, value] of Object.entries(sent)) {
          if (!["_meta", "ttlMs"].includes(name))
            expect(Object.entries(first ?? {})).toContainEqual([name, value]);
        }
      }),
    );
  });

  test("of bytes is carried, not copied", () => {
    const bytes = Buffer.from('{"content":[]}');
    const { pieces } = write(7, callOf("tools/call"), { kind: "result", result: Payload.ofText(bytes) });
    const carriedBytes = pieces.find((piece) => typeof piece !== "string") as Buffer;
    expect(carriedBytes.buffer).toBe(bytes.buffer);
  });
});

describe("an error", () => {
  test.each([
    [-32601, undefined, 404],
    [-32020, undefined, 400],
    [-32021, undefined, 400],
    [-32022, undefined, 400],
    [-32602, undefined, 200],
    [-32603, undefined, 200],
    [-31403, "denied", 200],
    [-31503, "overloaded", 503],
    [-31413, "too_large", 413],
    [-32602, "state_rejected", 200],
    [1, "no word of ours", 200],
  ])("%i refused as %s has HTTP status %i", (code, refusal, status) => {
    const reply = { ...errorReply(code, "no", { x: 1 }), ...(refusal && { refusal }) } as Reply;
    const response = write("é", callOf("tools/call"), reply);
    expect(response.status).toBe(status);
    expect(JSON.parse(textOf(response))).toEqual({
      jsonrpc: "2.0",
      id: "é",
      error: { code, message: "no", data: { x: 1 } },
    });
  });
});

test.each<[string, JsonObject | undefined, JsonObject]>([
  ["names the URI it was asked for", undefined, { uri: "x://y" }],
  ["keeps the URI it names itself", { uri: "x://z", more: 1 }, { uri: "x://z", more: 1 }],
])("a missing resource of an older revision is invalid parameters, and %s", (_what, data, expected) => {
  const call = callOf("resources/read", { params: { uri: "x://y" } });
  const response = write(7, call, errorReply(-32002, "no such resource", data));
  expect(JSON.parse(textOf(response))).toMatchObject({
    error: { code: -32602, message: "no such resource", data: expected },
  });
});

describe("a request for input", () => {
  const requests = { q: { method: "elicitation/create", params: { message: "?" } } };
  const able = { client: { ...callOf("x").client, capabilities: { elicitation: {}, roots: {} } } };
  const asked = (method: string, reply: JsonObject, more: object = able) =>
    write(7, callOf(method, more), { kind: "input_required", requests: {}, ...reply } as Reply);

  test("carries questions and state", () => {
    expect(resultOf(asked("tools/call", { requests, sealedState: "s" }))).toEqual({
      resultType: "input_required",
      inputRequests: requests,
      requestState: "s",
      ...ME,
    });
  });

  test("leaves out what there is none of, but never both", () => {
    expect(resultOf(asked("prompts/get", { requests }))).not.toHaveProperty("requestState");
    expect(resultOf(asked("resources/read", { sealedState: "s" }))).not.toHaveProperty("inputRequests");
    expect(resultOf(asked("tools/call", {}))).toHaveProperty("inputRequests", {});
  });

  test("is an error where none may be asked", () => {
    const response = asked("tools/list", { requests });
    expect([response.status, JSON.parse(textOf(response))]).toMatchObject([200, { error: { code: -32603 } }]);
  });

  test("is an error for a client that cannot answer it", () => {
    const sampling = { method: "sampling/createMessage", params: {} };
    const response = asked("tools/call", { requests: { ...requests, s: sampling }, sealedState: "s" });
    expect([response.status, JSON.parse(textOf(response))]).toMatchObject([
      400,
      { error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } } },
    ]);
  });
});
