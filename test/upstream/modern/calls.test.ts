/** Calls to a 2026-07-28 server: what each request says of itself, and what the answers become. */

import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../src/core/errors.js";
import type { StopSignal } from "../../../src/core/stop.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { decodeHeaderValue } from "../../../src/wire/mirrored-headers.js";
import { HTTP, legacyServer, modernServer, RpcFailure, SILENCE } from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import fc from "../../support/fast-check.js";
import { calling, client, failure, meet, resultOf, settled } from "../../support/met-upstream.js";

fakeTime();

const over = { transport: HTTP };
const complete = { resultType: "complete", content: [] };
const tool = (properties: JsonObject): JsonObject => ({
  name: "echo",
  inputSchema: { type: "object", properties },
});
const route = (item: JsonObject) =>
  ({ upstream: "files", target: "echo", exposed: "files__echo", kind: "tools", item }) as const;

describe("a request", () => {
  test("has its revision, clientInfo and log level in _meta, and the headers agree", async () => {
    const { server, upstream } = await meet(modernServer().on("tools/call", complete), over);
    const params = {
      name: "écho",
      arguments: { a: 1 },
      _meta: { traceparent: "00-1", progressToken: "mine" },
    };
    await upstream.call(
      calling({ params, logLevel: "warning", client: client({ info: { name: "host", version: "9" } }) }).call,
    );
    const { message, headers } = server.last;
    expect(message.params).toEqual({
      name: "écho",
      arguments: { a: 1 },
      _meta: {
        traceparent: "00-1",
        progressToken: message.id,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "host", version: "9" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "warning",
      },
    });
    expect(headers).toEqual({
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "=?base64?w6ljaG8=?=",
    });
  });

  test("has no log level when the client set none, and the gateway's clientInfo when the client has none", async () => {
    const server = modernServer().on("prompts/get", { resultType: "complete", messages: [] });
    const { upstream } = await meet(server);
    await upstream.call(calling({ method: "prompts/get", params: { name: "p" } }).call);
    const meta = server.params("prompts/get")._meta as JsonObject;
    expect(meta).not.toHaveProperty(["io.modelcontextprotocol/logLevel"]);
    expect(meta["io.modelcontextprotocol/clientInfo"]).toEqual({ name: "cardea", version: "1.2.3" });
  });

  test("names a resource by its URI", async () => {
    const server = modernServer().on("resources/read", { resultType: "complete", contents: [] });
    const { upstream } = await meet(server, over);
    await upstream.call(calling({ method: "resources/read", params: { uri: "file:///a b" } }).call);
    expect(server.sent("resources/read")[0]?.headers["mcp-name"]).toBe("file:///a b");
  });

  test("names a task by its handle", async () => {
    const { server, upstream } = await meet(modernServer().on("tasks/get", { resultType: "complete" }), over);
    await upstream.call(calling({ method: "tasks/get", params: { taskId: "t-1" } }).call);
    expect(server.last.headers["mcp-name"]).toBe("t-1");
  });

  test("carries the header arguments of the tool, and unknown members", async () => {
    const { server, upstream } = await meet(modernServer().on("tools/call", complete), over);
    const item = tool({
      region: { type: "string", "x-mcp-header": "Region" },
      deep: { type: "object", properties: { "a.b": { type: "integer", "x-mcp-header": "Deep" } } },
      flag: { type: "boolean", "x-mcp-header": "Flag" },
      none: { type: "string", "x-mcp-header": "None" },
      empty: { type: "string", "x-mcp-header": "Empty" },
    });
    const params = {
      name: "echo",
      arguments: { region: "a\r\nX-Evil: 1", deep: { "a.b": -7 }, flag: false, none: null, empty: "" },
    };
    await upstream.call(
      calling({ params, route: route(item), extraHeaders: { "mcp-param-other": "kept" } }).call,
    );
    const { headers } = server.last;
    expect(headers).toMatchObject({
      "mcp-param-deep": "-7",
      "mcp-param-flag": "false",
      "mcp-param-other": "kept",
    });
    expect(decodeHeaderValue(headers["mcp-param-region"] ?? "")).toBe("a\r\nX-Evil: 1");
    expect(headers).toHaveProperty("mcp-param-empty", "");
    expect(headers).not.toHaveProperty("mcp-param-none");
  });

  test("has headers that match its body, for any name and argument", async () => {
    const { server, upstream } = await meet(modernServer().on("tools/call", complete), over);
    const item = tool({ v: { type: "string", "x-mcp-header": "V" } });
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), async (name, v) => {
        fc.pre(name.isWellFormed() && v.isWellFormed());
        await upstream.call(calling({ params: { name, arguments: { v } }, route: route(item) }).call);
        const { message, headers } = server.last;
        expect(decodeHeaderValue(headers["mcp-name"] ?? "")).toBe(message.params?.name);
        expect(decodeHeaderValue(headers["mcp-param-v"] ?? "")).toBe(v);
      }),
    );
  });

  test("that resumes a call carries the answers, and a state exactly when there was one", async () => {
    const { server, upstream } = await meet(modernServer().on("tools/call", complete));
    await upstream.call(
      calling({ inputResponses: { responses: { k: { action: "accept" } }, state: { server: "s:1" } } }).call,
    );
    expect(server.params("tools/call")).toMatchObject({
      inputResponses: { k: { action: "accept" } },
      requestState: "s:1",
    });
    await upstream.call(calling({ inputResponses: { responses: {} } }).call);
    expect(server.params("tools/call")).not.toHaveProperty("requestState");
  });
});

describe("an answer", () => {
  const answered = async (result: JsonObject, method = "tools/call") => {
    const { upstream } = await meet(modernServer().on(method, result));
    return upstream.call(calling({ method }).call);
  };

  test("is complete if resultType is complete or missing", async () => {
    expect(resultOf(await answered({ resultType: "complete", content: [], odd: 1 }))).toEqual({
      resultType: "complete",
      content: [],
      odd: 1,
    });
    expect(resultOf(await answered({ content: [] }))).toEqual({ content: [] });
  });

  test("asks for input, with the server's own keys and state", async () => {
    const ask = (message: string) => ({ user_name: { method: "elicitation/create", params: { message } } });
    expect(
      await answered({ resultType: "input_required", inputRequests: ask("who?"), requestState: "opaque" }),
    ).toEqual({
      kind: "input_required",
      // Behind a gateway a question must name its server.
      requests: ask("files: who?"),
      state: { server: "opaque" },
    });
    expect(await answered({ resultType: "input_required", requestState: "later" })).toEqual({
      kind: "input_required",
      requests: {},
      state: { server: "later" },
    });
  });

  test.each([
    ["of a type nobody knows", { resultType: "task", task: {} }, "tools/call"],
    ["that asks without a question or a state", { resultType: "input_required" }, "tools/call"],
    [
      "that asks where nobody may",
      { resultType: "input_required", requestState: "s" },
      "completion/complete",
    ],
    ["whose type is no string", { resultType: 7 }, "tools/call"],
  ])("%s is an error", async (_what, result, method) => {
    expect(await answered(result, method)).toMatchObject({ kind: "error", error: { code: -32603 } });
  });

  test("has its ttlMs", async () => {
    const reply = await answered(
      { resultType: "complete", contents: [], ttlMs: 500, cacheScope: "public" },
      "resources/read",
    );
    expect(reply).toMatchObject({ freshness: { ttlMs: 500, scope: "public" } });
    expect(await answered({ contents: [], ttlMs: -5 }, "resources/read")).toMatchObject({
      freshness: { ttlMs: 0, scope: "private" },
    });
  });

  test("that requires a capability which the client lacks reaches the client unchanged", async () => {
    const server = modernServer().on("tools/call", () => {
      throw new RpcFailure(-32021, "needs sampling", { requiredCapabilities: { sampling: {} } }, 400);
    });
    const { upstream } = await meet(server, over);
    expect(await upstream.call(calling().call)).toMatchObject({ error: { code: -32021 } });
    for (const data of [
      undefined,
      "sampling",
      [],
      {},
      { requiredCapabilities: [] },
      { requiredCapabilities: {} },
      { requiredCapabilities: { sampling: true } },
      { requiredCapabilities: { sampling: {}, extensions: { x: 1 } } },
    ]) {
      server.on("tools/call", () => {
        throw new RpcFailure(-32021, "needs sampling", data, 400);
      });
      expect([data, await upstream.call(calling().call)]).toMatchObject([data, { error: { code: -32603 } }]);
    }
    server.on("tools/call", () => {
      throw new RpcFailure(-32021, "needs sampling", { requiredCapabilities: { sampling: {} } }, 400);
    });
    const able = client({ capabilities: { sampling: {} }, session: true });
    expect(await upstream.call(calling({ client: able }).call)).toMatchObject({
      error: { code: -32603, data: { upstreamError: { code: -32021 } } },
    });
  });
});

describe("a tool whose headers have changed", () => {
  test("is listed again, and the call retried", async () => {
    const item = tool({ v: { type: "string", "x-mcp-header": "V" } });
    const server = modernServer()
      .on("tools/list", { resultType: "complete", tools: [item] })
      .on("tools/call", (_params, asked) => {
        if (asked.headers["mcp-param-v"] === undefined)
          throw new RpcFailure(-32020, "mismatch", undefined, 400);
        return complete;
      });
    const { upstream, heard } = await meet(server, over);
    const { call } = calling({ params: { name: "echo", arguments: { v: "x" } }, route: route(tool({})) });
    expect(resultOf(await upstream.call(call))).toEqual(complete);
    const ids = server.sent("tools/call").map(({ message }) => message.id);
    expect(new Set(ids).size).toBe(2);
    expect(heard).toContain("tools @shared");
  });

  test("is not called a third time, and the client gets an error", async () => {
    const server = modernServer()
      .on("tools/list", { resultType: "complete", tools: [] })
      .on("tools/call", () => {
        throw new RpcFailure(-32020, "mismatch", undefined, 400);
      });
    const { upstream } = await meet(server, over);
    expect(await upstream.call(calling().call)).toMatchObject({ kind: "error", error: { code: -32603 } });
    expect(server.sent("tools/call")).toHaveLength(2);
  });
});

describe("cancellation", () => {
  test("closes the response stream over HTTP, and sends nothing else", async () => {
    let signal: StopSignal | undefined;
    const server = modernServer().on("tools/call", (_params, asked) => {
      signal = asked.signal;
      return SILENCE;
    });
    const { upstream } = await meet(server, over);
    const { call, giveUp } = calling();
    const reply = failure(upstream.call(call));
    await settled();
    giveUp();
    expect((await reply).code).toBe("cancelled");
    expect(signal?.aborted).toBe(true);
    expect(server.sent("notifications/cancelled")).toHaveLength(0);
  });

  test("is notifications/cancelled on a pipe", async () => {
    const { server, upstream } = await meet(modernServer().on("tools/call", () => SILENCE));
    const { call, giveUp } = calling();
    const reply = failure(upstream.call(call));
    await settled();
    giveUp(new GatewayError("cancelled", "downstream", "enough"));
    await reply;
    expect(server.params("notifications/cancelled")).toEqual({
      requestId: server.sent("tools/call")[0]?.message.id,
      reason: "enough",
    });
  });
});

describe("notifications of a server during a call", () => {
  test("reaches the call on whose stream it came, with the client's own token", async () => {
    const server = modernServer().on("tools/call", (params, asked) => {
      const { progressToken } = params._meta as JsonObject;
      asked.say("notifications/progress", { progressToken, progress: 1 });
      asked.say("notifications/message", { level: "info", data: params.name });
      return complete;
    });
    const { upstream } = await meet(server, over);
    const calls = ["a", "b"].map((name) =>
      calling({ params: { name, _meta: { progressToken: 1 } }, logLevel: "info" }),
    );
    await Promise.all(calls.map(({ call }) => upstream.call(call)));
    expect(calls.map(({ notices }) => notices)).toEqual(
      ["a", "b"].map((data) => [
        { method: "notifications/progress", params: { progressToken: 1, progress: 1 } },
        { method: "notifications/message", params: { level: "info", data } },
      ]),
    );
  });

  test("on a pipe reaches the only call with a log level", async () => {
    const { server, upstream } = await meet(modernServer().on("tools/call", () => SILENCE));
    const listening = calling({ logLevel: "debug" });
    const deaf = calling();
    for (const { call } of [listening, deaf]) void upstream.call(call).catch(() => {});
    await settled();
    server.channel.say("notifications/message", { level: "info", data: 1 });
    expect(listening.notices).toHaveLength(1);
    expect(deaf.notices).toHaveLength(0);
  });
});

test("a call that asked a question is not retried at a legacy server that replaced it", async () => {
  const server = modernServer().on("tools/call", {
    resultType: "input_required",
    inputRequests: { name: { method: "elicitation/create", params: { message: "who?" } } },
    requestState: "s1",
  });
  const { upstream } = await meet(server, over);
  const host = client({ capabilities: { elicitation: {} } });
  expect(await upstream.call(calling({ client: host }).call)).toMatchObject({ state: { server: "s1" } });
  server.methods.delete("server/discover");
  const older = legacyServer().on("tools/call", { content: [] });
  for (const [method, answer] of older.methods) server.on(method, answer);
  server.channel.end();
  await settled();
  const inputResponses = { responses: { name: { action: "accept" } }, state: { server: "s1" } };
  const error = await failure(upstream.call(calling({ client: host, inputResponses }).call));
  expect(error.code).toBe("outcome_unknown");
  expect(server.sent("tools/call")).toHaveLength(1);
});

test("a server that was downgraded is detected by the first call that it rejects", async () => {
  const { server, upstream } = await meet(modernServer().on("tools/call", { content: [] }), over);
  const older = legacyServer()
    .on("tools/call", { content: ["old"] })
    .on("server/discover", {});
  for (const [method, answer] of older.methods) {
    server.on(method, (params, asked) => {
      // As servers with sessions do to those who have none.
      if (asked.headers["mcp-protocol-version"] !== "2026-07-28") return answer(params, asked);
      throw new RpcFailure(-32000, "Bad Request: no session", undefined, 400);
    });
  }
  expect(await upstream.call(calling().call)).toMatchObject({ kind: "error", error: { code: -32000 } });
  await settled();
  expect(upstream.state).toBe("backoff");
  expect(resultOf(await upstream.call(calling().call))).toEqual({ content: ["old"] });
});

test.each(["call", "list"])(
  "a server that rejects the revision for a %s is negotiated with again",
  async (way) => {
    const refuse = (): never => {
      throw new RpcFailure(-32022, "unsupported", { supported: ["2025-11-25"] }, 400);
    };
    const { upstream } = await meet(modernServer().on("tools/call", refuse).on("tools/list", refuse), over);
    const asked: Promise<unknown> =
      way === "call"
        ? upstream.call(calling().call)
        : upstream.list("tools", undefined, new AbortController().signal);
    expect(await failure(asked)).toMatchObject({
      code: "upstream_unavailable",
      retryable: true,
    });
    await settled();
    expect(upstream.state).toBe("backoff");
  },
);
