/** Calls of legacy hosts over HTTP: responses, notifications before them, and cancellation. */

import { describe, expect, test } from "vitest";
import type { Call } from "../../../src/core/call.js";
import type { MessageId } from "../../../src/wire/envelope.js";
import { parseJson } from "../../../src/wire/json-text.js";
import { Payload } from "../../../src/wire/payload.js";
import { echo, type FakeHandler, pendingHandler, textReply } from "../../support/fake-port.js";
import { until } from "../../support/until.js";
import { answerOf, Events, edgeHost, edgeServer, type Host, type Message } from "./support.js";

const callTool = (id: MessageId, params: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "t", arguments: {}, ...params },
});

describe("the answer", () => {
  test("is JSON where nothing comes before it, and carries the id as it was sent", async () => {
    const { host } = await edgeHost({ handlers: { "tools/call": echo } });
    for (const id of [0, 1, "1", "", "ä"]) {
      const answer = await host.post(callTool(id));
      expect(answer.headers.get("content-type")).toBe("application/json");
      expect(answer.json).toEqual({
        jsonrpc: "2.0",
        id,
        result: { content: [{ type: "text", text: "t {}" }] },
      });
    }
  });

  test("contains the unchanged bytes of the upstream response", async () => {
    const odd = '{ "content": [],\n "big": 12345678901234567890, "__proto__": {"a":1} }';
    for (const result of [Payload.ofText(odd), Payload.ofText(Buffer.from(odd))]) {
      const { host } = await edgeHost({
        handlers: { "tools/call": () => ({ kind: "result", result }) },
      });
      const answer = await host.post(callTool("x"));
      expect(answer.text).toBe(`{"jsonrpc":"2.0","id":"x","result":${odd}}`);
    }
  });

  test("is an error with code, message and data of the server", async () => {
    const error = { code: -31999, message: "no", data: { why: [1] } };
    const { host } = await edgeHost({ handlers: { "tools/call": () => ({ kind: "error", error }) } });
    expect(await host.request("tools/call", { name: "t" }, 9)).toEqual({ jsonrpc: "2.0", id: 9, error });
  });

  test("is an event stream for a client that reads nothing else, and JSON for one that reads only that", async () => {
    const noisy: FakeHandler = (call) => {
      call.notify({ method: "notifications/message", params: { level: "info", data: 1 } });
      return echo(call);
    };
    const { host } = await edgeHost({ handlers: { "tools/call": noisy } });
    const events = new Events(await host.open(callTool(1), { accept: "text/event-stream" }));
    expect((await events.rest()).map(({ method, id }) => method ?? id)).toEqual(["notifications/message", 1]);
    const json = await host.post(callTool(2), { accept: "application/json" });
    expect(json.json).toMatchObject({ id: 2, result: {} });
  });

  test("is an error of the gateway if the upstream response is not JSON", async () => {
    const result = Payload.ofText('{"ttlMs":1,');
    const { server, host } = await edgeHost({
      handlers: { "tools/call": () => ({ kind: "result", result }) },
    });
    expect((await host.request("tools/call", { name: "t" })).error?.code).toBe(-32603);
    expect(server.edge.sessions()[0]?.inFlight).toBe(0);
  });

  test("is an internal error where a handler throws", async () => {
    const { host } = await edgeHost({
      handlers: {
        "tools/call": () => {
          throw new Error("secret");
        },
      },
    });
    const answer = await host.request("tools/call", { name: "t" });
    expect(answer.error?.code).toBe(-32603);
    expect(JSON.stringify(answer)).not.toContain("secret");
    expect((await host.request("ping", {}, 1)).result).toEqual({});
  });
});

describe("the call", () => {
  test("has the parameters as they were sent, without what only the modern era may say", async () => {
    const { server, host } = await edgeHost({ handlers: { "tools/call": echo } });
    await host.post(
      callTool(1, {
        vendor: { a: 1 },
        requestState: "stolen",
        inputResponses: { q: {} },
        _meta: {
          progressToken: 7,
          traceparent: "00-1",
          "io.modelcontextprotocol/clientCapabilities": { sampling: {} },
          "io.modelcontextprotocol/logLevel": "debug",
        },
      }),
    );
    const { params, inputResponses, logLevel } = server.port.calls[0] as Call;
    expect(params).toEqual({
      name: "t",
      arguments: {},
      vendor: { a: 1 },
      _meta: { progressToken: 7, traceparent: "00-1" },
    });
    expect([inputResponses, logLevel]).toEqual([undefined, undefined]);
  });

  test("is not cancelled by a notification that could name another, which over HTTP is refused", async () => {
    const pending = pendingHandler();
    const { host } = await edgeHost({ handlers: { "tools/call": pending.handler } });
    const first = host.post(callTool(1));
    const { signal } = await pending.called;
    const answer = await host.notify("notifications/cancelled", { requestId: 1, RequestId: 2 });
    expect(answer).toMatchObject({ status: 400, json: { error: { code: -32602 } } });
    expect(signal.aborted).toBe(false);
    pending.answer(textReply("first"));
    expect((await first).json).toMatchObject({ id: 1, result: {} });
  });

  test("with an id that is in flight is refused, and the first continues", async () => {
    const pending = pendingHandler();
    const { server, host } = await edgeHost({ handlers: { "tools/call": pending.handler } });
    const first = host.post(callTool(1));
    await pending.called;
    expect(await host.request("tools/call", { name: "t" }, 1)).toMatchObject({
      id: null,
      error: { code: -32600 },
    });
    pending.answer(textReply("first"));
    expect((await first).json).toMatchObject({ id: 1, result: { content: [{ text: "first" }] } });
    expect(server.port.calls).toHaveLength(1);
  });

  test("with an id beyond double precision is distinct from its neighbours, and can be cancelled", async () => {
    const waiting = new Map([
      ["one", pendingHandler()],
      ["two", pendingHandler()],
    ]);
    const handler: FakeHandler = (call) => waiting.get(String(call.params.name))?.handler(call) ?? echo(call);
    const { host } = await edgeHost({ handlers: { "tools/call": handler } });
    const exact = (source: string) => parseJson(source) as MessageId;
    const begun = async (name: string, id: string) => {
      const answer = host.post(callTool(exact(id), { name }));
      return { answer, call: await waiting.get(name)?.called };
    };
    const one = await begun("one", "9007199254740992");
    const two = await begun("two", "9007199254740993");
    const twin = await host.post(callTool(exact("9007199254740993.0"), { name: "three" }));
    expect(twin.json).toMatchObject({ id: null, error: { code: -32600 } });
    await host.notify("notifications/cancelled", { requestId: exact("9007199254740994") });
    await host.notify("notifications/cancelled", { requestId: "9007199254740993" });
    expect(two.call?.signal.aborted).toBe(false);
    await host.notify("notifications/cancelled", { requestId: exact("9007199254740993e0") });
    expect([one.call?.signal.aborted, two.call?.signal.aborted]).toEqual([false, true]);
    waiting.get("one")?.answer(textReply("one"));
    expect((await one.answer).text).toContain('"id":9007199254740992,');
  });

  test("with a string for an id is another than the one with the same number", async () => {
    const pending = pendingHandler();
    const handler: FakeHandler = (call) => (call.params.name === "wait" ? pending.handler(call) : echo(call));
    const { host } = await edgeHost({ handlers: { "tools/call": handler } });
    const first = host.post(callTool(1, { name: "wait" }));
    const call = await pending.called;
    expect(await host.request("tools/call", { name: "t" }, "1")).toMatchObject({ id: "1", result: {} });
    await host.notify("notifications/cancelled", { requestId: "1" });
    expect(call.signal.aborted).toBe(false);
    pending.answer(textReply("done"));
    expect((await first).json).toMatchObject({ id: 1 });
  });
});

describe("progress and log messages", () => {
  const noisy =
    (...notices: Parameters<Call["notify"]>[0][]): FakeHandler =>
    (call) => {
      for (const notice of notices) call.notify(notice);
      return textReply("end");
    };
  const progress = (progressToken: unknown, value: number) => ({
    method: "notifications/progress",
    params: { progressToken, progress: value },
  });
  const log = (level: string) => ({ method: "notifications/message", params: { level, data: "d" } });

  test("come on the stream of the POST they belong to, and the answer last", async () => {
    const { host } = await edgeHost({
      handlers: { "tools/call": noisy(progress(1, 1), progress(1, 2), log("info")) },
    });
    const response = await host.open(callTool("a", { _meta: { progressToken: 1 } }));
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    const events = new Events(response);
    expect(await events.rest()).toEqual([
      { jsonrpc: "2.0", ...progress(1, 1) },
      { jsonrpc: "2.0", ...progress(1, 2) },
      { jsonrpc: "2.0", ...log("info") },
      { jsonrpc: "2.0", id: "a", result: { content: [{ type: "text", text: "end" }] } },
    ]);
  });

  test("progress for a token the client did not send, or sent in another type, is not passed on", async () => {
    const { host } = await edgeHost({
      handlers: { "tools/call": noisy(progress("1", 1), progress(2, 2), progress(undefined, 3)) },
    });
    const answer = await host.post(callTool(1, { _meta: { progressToken: 1 } }));
    expect(answer.json).toMatchObject({ id: 1, result: {} });
    expect((await host.post(callTool(2))).json).toMatchObject({ id: 2 });
  });

  test("log messages below the level of the session are left out; with no level set all come", async () => {
    const { host } = await edgeHost({
      handlers: { "tools/call": noisy(log("debug"), log("warning"), log("critical"), log("odd")) },
    });
    const levels = async () => {
      const messages = await new Events(await host.open(callTool(1))).rest();
      return messages.flatMap(({ params }) => (params === undefined ? [] : [params.level]));
    };
    expect(await levels()).toEqual(["debug", "warning", "critical", "odd"]);
    await host.request("logging/setLevel", { level: "warning" });
    expect(await levels()).toEqual(["warning", "critical", "odd"]);
  });

  test("no notification is sent after the response", async () => {
    const kept: Call[] = [];
    const { host } = await edgeHost({
      handlers: {
        "tools/call": (call) => {
          kept.push(call);
          return noisy(log("info"))(call);
        },
      },
    });
    const events = new Events(await host.open(callTool(1)));
    const messages = await events.rest();
    kept[0]?.notify(log("error"));
    expect(messages).toHaveLength(2);
    expect((await host.post(callTool(2), { accept: "application/json" })).status).toBe(200);
  });
});

describe("notifications/cancelled", () => {
  test("aborts the request of that id, which gets no response; a late reply is dropped", async () => {
    const pending = pendingHandler();
    const { server, host } = await edgeHost({ handlers: { "tools/call": pending.handler } });
    const answer = host.post(callTool(5));
    const call = await pending.called;
    const cancelled = { requestId: 5, reason: "enough" };
    expect((await host.notify("notifications/cancelled", cancelled)).status).toBe(202);
    expect(call.signal).toMatchObject({ aborted: true, reason: { code: "cancelled", message: "enough" } });
    const ended = await answer;
    expect(ended).toMatchObject({ status: 200, text: "" });
    expect(ended.headers.get("content-type")).toBe("text/event-stream");
    pending.answer(textReply("late"));
    expect(server.edge.sessions()[0]?.inFlight).toBe(0);
  });

  test("of a client without event streams ends the request with an error in JSON", async () => {
    const pending = pendingHandler();
    const { server, host } = await edgeHost(
      { handlers: { "tools/call": pending.handler } },
      { version: "2025-03-26" },
    );
    const json = { accept: "application/json" };
    const single = host.post(callTool(5), json);
    await pending.called;
    await host.notify("notifications/cancelled", { requestId: 5 });
    const error = { data: { cardea: { code: "cancelled" } } };
    expect(await single).toMatchObject({ status: 200, json: { id: 5, error } });
    const batch = host.post([callTool(6), callTool(7)], json);
    await until("both", () => server.edge.sessions()[0]?.inFlight === 2);
    for (const requestId of [6, 7]) await host.notify("notifications/cancelled", { requestId });
    expect(await batch).toMatchObject({
      status: 200,
      json: [
        { id: 6, error },
        { id: 7, error },
      ],
    });
  });

  test("releases the id: a request that uses it again is another, whatever late messages of the first arrive", async () => {
    const [first, second] = [pendingHandler(), pendingHandler()];
    const handler: FakeHandler = (call) => (call.params.name === "1" ? first : second).handler(call);
    const { host } = await edgeHost({ handlers: { "tools/call": handler } });
    const answers = [host.post(callTool(5, { name: "1" }))];
    await first.called;
    await host.notify("notifications/cancelled", { requestId: 5 });
    answers.push(host.post(callTool(5, { name: "2" })));
    const again = await second.called;
    first.answer(textReply("late"));
    await host.request("ping", {}, 6);
    await host.notify("notifications/cancelled", { requestId: 5 });
    expect(again.signal.aborted).toBe(true);
    expect((await Promise.all(answers)).map(({ status, text }) => [status, text])).toEqual([
      [200, ""],
      [200, ""],
    ]);
  });

  test("of an unknown id, of another session's id, or without one changes nothing", async () => {
    const pending = pendingHandler();
    const server = await edgeServer({ handlers: { "tools/call": pending.handler } });
    const [host, other] = [await server.host(), await server.host()];
    const answer = host.post(callTool(5));
    const call = await pending.called;
    for (const params of [{ requestId: 5 }, { requestId: 6 }, {}]) {
      expect((await other.notify("notifications/cancelled", params)).status).toBe(202);
    }
    expect((await host.notify("notifications/cancelled", { requestId: { a: 1 } })).status).toBe(202);
    expect(call.signal.aborted).toBe(false);
    pending.answer(textReply("done"));
    expect((await answer).json).toMatchObject({ id: 5, result: {} });
  });
});

describe("batches", () => {
  const batch = [
    callTool(1, { name: "a" }),
    { jsonrpc: "2.0", method: "notifications/progress", params: {} },
    callTool("2", { name: "b" }),
    { jsonrpc: "2.0", id: 3, method: "nobody/knows" },
  ];

  test("of 2025-03-26 are answered by one array, with one response for each request", async () => {
    const { host } = await edgeHost({ handlers: { "tools/call": echo } }, { version: "2025-03-26" });
    const answer = await host.post(batch);
    const byId = new Map((answer.json as Message[]).map((message) => [message.id, message]));
    expect(new Set(byId.keys())).toEqual(new Set([1, 3, "2"]));
    expect(byId.get("2")).toMatchObject({ result: { content: [{ text: "b {}" }] } });
    expect(byId.get(3)).toMatchObject({ error: { code: -32601 } });
  });

  test("answer each bad member with its own error, and serve the others", async () => {
    const { server, host } = await edgeHost({ handlers: { "tools/call": echo } }, { version: "2025-03-26" });
    const answer = await host.post([
      7,
      callTool(1, { name: "a" }),
      { jsonrpc: "1.0", id: 2, method: "ping" },
      { jsonrpc: "2.0", id: 3, method: "tools/call", Method: "ping" },
      callTool(4, { name: "d", Name: "e" }),
      callTool(5, { name: "f" }),
    ]);
    const messages = answer.json as Message[];
    expect(messages).toHaveLength(6);
    const byId = new Map(messages.map((message) => [message.id, message]));
    for (const id of [1, 5]) expect(byId.get(id)).toMatchObject({ result: {} });
    for (const id of [null, 2, 3]) expect(byId.get(id)).toMatchObject({ error: { code: -32600 } });
    expect(byId.get(4)).toMatchObject({ error: { code: -32602 } });
    expect(server.port.calls).toHaveLength(2);
    expect((await host.post([7])).json).toMatchObject([{ id: null, error: { code: -32600 } }]);
  });

  test("of notifications alone are taken with 202", async () => {
    const { host } = await edgeHost({}, { version: "2025-03-26" });
    expect(await host.post([batch[1], batch[1]])).toMatchObject({ status: 202, text: "" });
  });

  test("become one stream when something comes before the answers", async () => {
    const first = pendingHandler();
    const handler: FakeHandler = (call) => {
      if (call.params.name === "a") return first.handler(call);
      call.notify({ method: "notifications/message", params: { level: "info", data: "b" } });
      return textReply("b");
    };
    const { host } = await edgeHost({ handlers: { "tools/call": handler } }, { version: "2025-03-26" });
    const events = new Events(await host.open([callTool(1, { name: "a" }), callTool(2, { name: "b" })]));
    expect(await events.message()).toMatchObject({ method: "notifications/message" });
    expect(await events.message()).toMatchObject({ id: 2 });
    first.answer(textReply("a"));
    expect(await events.rest()).toMatchObject([{ id: 1 }]);
  });

  test("with initialize in them, too long ones, and those of every other revision are refused with 400", async () => {
    const { server, host } = await edgeHost({ handlers: { "tools/call": echo } }, { version: "2025-03-26" });
    expect((await host.post([{ jsonrpc: "2.0", id: 1, method: "initialize", params: {} }])).status).toBe(400);
    expect((await host.post(Array.from({ length: 101 }, (_, id) => callTool(id)))).status).toBe(400);
    for (const version of ["2024-11-05", "2025-06-18", "2025-11-25"]) {
      const newer = await server.host({ version });
      expect((await newer.post([callTool(1)])).status).toBe(400);
    }
    expect(server.port.calls).toEqual([]);
  });
});

describe("a call that takes long", () => {
  test("gets its stream before the first message, so that no proxy times it out", async () => {
    const pending = pendingHandler();
    const { host } = await edgeHost({ handlers: { "tools/call": pending.handler } }, {}, { keepAliveMs: 10 });
    const response = await host.open(callTool(1));
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    pending.answer(textReply("at last"));
    expect(await new Events(response).rest()).toMatchObject([{ id: 1 }]);
  });

  test("gets a JSON error when its session ends", async () => {
    const pending = pendingHandler();
    const server = await edgeServer({ handlers: { "tools/call": pending.handler } });
    const host: Host = await server.host();
    const answer = host.open(callTool(1)).then(answerOf);
    const call = await pending.called;
    await host.delete();
    expect(call.signal.aborted).toBe(true);
    expect((await answer).json).toMatchObject({ id: 1, error: { data: { cardea: { code: "cancelled" } } } });
  });
});
