/** Questions of servers that legacy hosts answer while their call goes on. */
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Call, Reply } from "../../../src/core/call.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { type FakeHandler, textReply } from "../../support/fake-port.js";
import { Events, edgeServer, type Message } from "./support.js";

afterEach(() => void vi.useRealTimers());

const CAN_ALL = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
const form = (message: string) => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message,
    requestedSchema: { type: "object", properties: { a: { type: "string" } } },
  },
});
const SAMPLING = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 10 },
};
const ROOTS = { method: "roots/list" };

const callTool = (id: string | number = 1, params = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "t", arguments: { x: 1 }, ...params },
});

const asks = (requests: object, state?: string): Reply => ({
  kind: "input_required",
  requests: { ...requests },
  ...(state !== undefined && { sealedState: state }),
});

/** Replies in this order, one for each round. */
function rounds(...replies: (Reply | ((call: Call) => Reply))[]): { "tools/call": FakeHandler } {
  let round = 0;
  return {
    "tools/call": (call) => {
      const reply = replies[Math.min(round, replies.length - 1)];
      round += 1;
      if (reply === undefined) throw new Error("there are no replies");
      return typeof reply === "function" ? reply(call) : reply;
    },
  };
}

describe("an answer", () => {
  test("that could be read in two ways is none; its server hears so, and over HTTP its host too", async () => {
    const server = await edgeServer({ handlers: rounds(asks({ q: form("sure?") }, "s"), textReply("done")) });
    const host = await server.host({ capabilities: CAN_ALL });
    const events = new Events(await host.open(callTool(7)));
    const { id } = await events.message();
    const answer = await host.respond(id, { action: "decline", Action: "accept" });
    expect(answer).toMatchObject({ status: 400, json: { error: { code: -32602 } } });
    expect(answer.text).toContain("Action");
    await events.rest();
    expect(server.port.calls[1]?.inputResponses).toMatchObject({
      responses: { q: { action: "cancel" } },
      refusals: { q: { code: -32602, message: expect.stringContaining('"Action"') } },
    });
  });
});

describe("a question", () => {
  test("comes on the stream of the POST that caused it, and its answer goes back with the state as it was", async () => {
    const server = await edgeServer({
      handlers: rounds(asks({ q: form("name?") }, "s3cret\u0000state"), textReply("hello")),
    });
    const host = await server.host({ capabilities: CAN_ALL });
    const events = new Events(await host.open(callTool(7)));
    const question = await events.message();
    expect(question).toEqual({ jsonrpc: "2.0", id: question.id, ...form("name?") });
    const answer = { action: "accept", content: { a: "Ann" }, vendor: [1] };
    expect((await host.respond(question.id, answer)).status).toBe(202);
    expect(await events.rest()).toMatchObject([{ id: 7, result: { content: [{ text: "hello" }] } }]);
    const [first, second] = server.port.calls;
    expect(second?.inputResponses).toEqual({ responses: { q: answer }, sealedState: "s3cret\u0000state" });
    expect(second).toMatchObject({ method: "tools/call", params: { name: "t", arguments: { x: 1 } } });
    expect(second?.id).not.toBe(first?.id);
    expect(second?.client).toBe(first?.client);
  });

  test("several are asked at once, and each answer finds its key, in whatever order they come", async () => {
    const server = await edgeServer({
      handlers: rounds(
        asks({ one: form("1"), two: SAMPLING, __proto__x: ROOTS, three: form("3") }),
        textReply("ok"),
      ),
    });
    const host = await server.host({ capabilities: CAN_ALL });
    const events = new Events(await host.open(callTool()));
    const questions = [
      await events.message(),
      await events.message(),
      await events.message(),
      await events.message(),
    ];
    expect(new Set(questions.map(({ id }) => id)).size).toBe(4);
    for (const [at, { id }] of [...questions.entries()].reverse()) await host.respond(id, { n: at });
    await events.rest();
    expect(server.port.calls[1]?.inputResponses?.responses).toEqual({
      one: { n: 0 },
      two: { n: 1 },
      __proto__x: { n: 2 },
      three: { n: 3 },
    });
  });

  test("may be followed by others, round after round, each with the newest state only", async () => {
    const server = await edgeServer({
      handlers: rounds(asks({ q: form("1") }, "a"), asks({ q: form("2") }), asks({}, "c"), textReply("done")),
    });
    const host = await server.host({ capabilities: CAN_ALL });
    const events = new Events(await host.open(callTool()));
    for (const action of ["accept", "decline"]) await host.respond((await events.message()).id, { action });
    expect(await events.rest()).toHaveLength(1);
    expect(server.port.calls.map(({ inputResponses }) => inputResponses)).toEqual([
      undefined,
      { responses: { q: { action: "accept" } }, sealedState: "a" },
      { responses: { q: { action: "decline" } } },
      { responses: {}, sealedState: "c" },
    ]);
  });

  test("is no error for a prompt or a resource either", async () => {
    const server = await edgeServer({
      handlers: {
        "prompts/get": (call) => (call.inputResponses === undefined ? asks({ q: ROOTS }) : textReply("p")),
      },
    });
    const host = await server.host({ capabilities: CAN_ALL });
    const events = new Events(await host.open({ ...callTool(), method: "prompts/get" }));
    await host.respond((await events.message()).id, { roots: [] });
    expect(await events.rest()).toMatchObject([{ id: 1, result: {} }]);
  });

  test("is answered only by its own session, under its own id of the same type, and once", async () => {
    const server = await edgeServer({ handlers: rounds(asks({ q: form("?") }), textReply("ok")) });
    const [host, other] = [
      await server.host({ capabilities: CAN_ALL }),
      await server.host({ capabilities: CAN_ALL }),
    ];
    const events = new Events(await host.open(callTool()));
    const { id } = await events.message();
    await other.respond(id, { action: "accept", content: { from: "stranger" } });
    await host.respond(String(id), { action: "accept", content: { from: "string" } });
    await host.respond(99, { action: "accept", content: { from: "elsewhere" } });
    await host.respond(id, { action: "accept", content: { from: "host" } });
    await host.respond(id, { action: "accept", content: { from: "late" } });
    await events.rest();
    expect(server.port.calls[1]?.inputResponses?.responses).toEqual({
      q: { action: "accept", content: { from: "host" } },
    });
  });

  test("and its answer survive a dropped stream", async () => {
    const server = await edgeServer({ handlers: rounds(asks({ q: form("?") }), textReply("ok")) });
    const host = await server.host({ capabilities: CAN_ALL });
    const lost = new Events(await host.open(callTool()));
    const { id } = await lost.message();
    await lost.cancel();
    await host.respond(id, { action: "accept" });
    const resumed = await host.listen({ "last-event-id": lost.lastId ?? "" });
    expect(await resumed.rest()).toMatchObject([{ id: 1, result: { content: [{ text: "ok" }] } }]);
  });
});

describe("a host that takes no stream as an answer", () => {
  test("is asked on its GET stream, if it has one", async () => {
    const server = await edgeServer({ handlers: rounds(asks({ q: form("?") }), textReply("ok")) });
    const host = await server.host({ capabilities: CAN_ALL });
    const events = await host.listen();
    const answer = host.post(callTool(), { accept: "application/json" });
    await host.respond((await events.message()).id, { action: "accept" });
    expect((await answer).json).toMatchObject({ id: 1, result: { content: [{ text: "ok" }] } });
    expect(server.port.calls[1]?.inputResponses?.responses).toEqual({ q: { action: "accept" } });
    await events.cancel();
  });

  test("is not asked at all without one", async () => {
    const server = await edgeServer({ handlers: rounds(asks({ q: form("?") }), textReply("went on")) });
    const host = await server.host({ capabilities: CAN_ALL });
    const answer = await host.post(callTool(), { accept: "application/json" });
    expect(answer.json).toMatchObject({ id: 1, result: { content: [{ text: "went on" }] } });
    expect(server.port.calls[1]?.inputResponses?.responses).toEqual({ q: { action: "cancel" } });
  });
});

describe("a host that refuses, or cannot be asked,", () => {
  const answersTo = async (capabilities: object, question: object, respond?: object) => {
    const server = await edgeServer({ handlers: rounds(asks({ q: question }), textReply("went on")) });
    const host = await server.host({ capabilities: { ...capabilities } });
    const events = new Events(await host.open(callTool(), { accept: "text/event-stream" }));
    if (respond !== undefined) {
      const { id } = await events.message();
      await host.post({ jsonrpc: "2.0", id, ...respond });
    }
    const rest = await events.rest();
    return { answers: server.port.calls[1]?.inputResponses, rest, asked: rest.length > 1 };
  };

  test("is never asked for what it has not declared; a form is cancelled, and there are no roots", async () => {
    const withoutForm = await answersTo({}, form("?"));
    expect(withoutForm).toMatchObject({
      asked: false,
      answers: { responses: { q: { action: "cancel" } }, refusals: { q: { code: -32601 } } },
      rest: [{ id: 1, result: { content: [{ text: "went on" }] } }],
    });
    expect(await answersTo({ sampling: {} }, ROOTS)).toMatchObject({
      asked: false,
      answers: { responses: { q: { roots: [] } } },
    });
    expect(await answersTo({ elicitation: {} }, SAMPLING)).toMatchObject({
      asked: false,
      answers: { responses: {}, refusals: { q: { code: -32601 } } },
    });
  });

  test("is not sent to a URL when it knows only forms, nor shown a form when it knows only URLs", async () => {
    const url = { method: "elicitation/create", params: { mode: "url", message: "m", url: "https://x" } };
    for (const [elicitation, question] of [
      [{}, url],
      [{ form: {} }, url],
      [{ url: {} }, form("?")],
    ] as const) {
      expect(await answersTo({ elicitation }, question)).toMatchObject({
        asked: false,
        answers: { responses: { q: { action: "cancel" } }, refusals: { q: { code: -32602 } } },
      });
    }
  });

  test("that answers with an error has it told to servers that can hear it", async () => {
    const error = { code: -1, message: "User rejected sampling request" };
    expect(await answersTo(CAN_ALL, SAMPLING, { error })).toMatchObject({
      answers: { responses: {}, refusals: { q: error } },
    });
    expect(await answersTo(CAN_ALL, form("?"), { error })).toMatchObject({
      answers: { responses: { q: { action: "cancel" } }, refusals: { q: error } },
    });
  });

  test("makes a tool fail, and not ask for ever, when the server cannot do without", async () => {
    const server = await edgeServer({ handlers: rounds(asks({ q: SAMPLING })) });
    const host = await server.host();
    const answer = await host.request("tools/call", { name: "t" });
    expect(answer.result).toMatchObject({ isError: true, _meta: { "cardea/refusal": { code: "denied" } } });
    expect(server.port.calls).toHaveLength(2);
    expect(server.port.calls[1]?.signal.aborted).toBe(true);
  });
});

describe("questions without end", () => {
  test("are cut after eight rounds; a tool fails as a tool, all else with an error", async () => {
    const ask = () => asks({ q: form("again?") });
    const server = await edgeServer({ handlers: { "tools/call": ask, "prompts/get": ask } });
    const host = await server.host({ capabilities: CAN_ALL });
    for (const method of ["tools/call", "prompts/get"]) {
      const events = new Events(await host.open({ ...callTool(), method }));
      for (let round = 1; round <= 8; round += 1)
        await host.respond((await events.message()).id, { action: "accept" });
      const last = (await events.rest())[0] as Message;
      if (method === "tools/call") expect(last.result).toMatchObject({ isError: true });
      else expect(last.error).toMatchObject({ data: { cardea: { code: "denied" } } });
    }
    expect(server.port.calls).toHaveLength(18);
    expect(server.port.calls.every(({ signal }) => signal.aborted)).toBe(true);
  });

  test("at once are not asked at all, so that the places of other servers' questions stay free", async () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`q${index}`, form("sure?")]));
    const server = await edgeServer({ handlers: rounds(asks(many, "s")) });
    const host = await server.host({ capabilities: CAN_ALL });
    const { result } = await host.request("tools/call", { name: "t" });
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain("150 questions at once");
  });

  test("a reply that asks nothing and has no state is a fault of the server", async () => {
    const server = await edgeServer({ handlers: rounds(asks({})) });
    const host = await server.host();
    expect((await host.request("tools/call", { name: "t" })).result).toMatchObject({ isError: true });
  });
});

describe("a question that the server takes back", () => {
  /** A round of two questions, and what takes them back. */
  const watched = () => {
    const hearers = new Set<(key: string) => void>();
    const reply: Reply = {
      kind: "input_required",
      requests: { a: form("a?"), b: form("b?") },
      sealedState: "s",
      open: {
        watch(gone) {
          hearers.add(gone);
          return () => hearers.delete(gone);
        },
      },
    };
    return { reply, hearers, takeBack: (key: string) => hearers.forEach((hear) => void hear(key)) };
  };

  test("is taken back from the host, and the others are answered without it", async () => {
    const { reply, hearers, takeBack } = watched();
    const server = await edgeServer({ handlers: rounds(reply, textReply("went on")) });
    const host = await server.host({ capabilities: CAN_ALL });
    const events = new Events(await host.open(callTool(3)));
    const [first, second] = [await events.message(), await events.message()];
    takeBack("a");
    expect(await events.message()).toMatchObject({
      method: "notifications/cancelled",
      params: { requestId: first.id, reason: "the server cancelled the question" },
    });
    await host.respond(second.id, { action: "accept" });
    expect(await events.rest()).toMatchObject([{ id: 3, result: { content: [{ text: "went on" }] } }]);
    expect(server.port.calls[1]?.inputResponses).toEqual({
      responses: { b: { action: "accept" } },
      sealedState: "s",
    });
    expect(hearers.size).toBe(0);
  });

  test("as the last of its round lets the call go on at once", async () => {
    const { reply, takeBack } = watched();
    const server = await edgeServer({ handlers: rounds(reply, textReply("went on")) });
    const host = await server.host({ capabilities: CAN_ALL });
    const events = new Events(await host.open(callTool(3)));
    await events.message();
    await events.message();
    takeBack("a");
    takeBack("b");
    expect((await events.rest()).at(-1)).toMatchObject({ id: 3, result: { content: [{ text: "went on" }] } });
    expect(server.port.calls[1]?.inputResponses).toEqual({ responses: {}, sealedState: "s" });
  });
});

describe("a call that is given up while its question is open", () => {
  test("takes the question back on the same stream, and is not made again", async () => {
    const server = await edgeServer({ handlers: rounds(asks({ q: form("?") }), textReply("never")) });
    const host = await server.host({ capabilities: CAN_ALL });
    const events = new Events(await host.open(callTool(3)));
    const { id } = await events.message();
    await host.notify("notifications/cancelled", { requestId: 3 });
    expect(await events.rest()).toMatchObject([
      { method: "notifications/cancelled", params: { requestId: id } },
    ]);
    await host.respond(id, { action: "accept" });
    expect(server.port.calls).toHaveLength(1);
    expect(server.port.calls[0]?.signal.aborted).toBe(true);
  });

  test("because the session ends, ends too", async () => {
    const server = await edgeServer({ handlers: rounds(asks({ q: form("?") }), textReply("never")) });
    const host = await server.host({ capabilities: CAN_ALL });
    const events = new Events(await host.open(callTool(3)));
    await events.message();
    await host.delete();
    const rest = await events.rest();
    expect(rest.at(-1)).toMatchObject({ id: 3, error: { data: { cardea: { code: "cancelled" } } } });
    expect(server.port.calls).toHaveLength(1);
  });

  test("by nobody answering in time, goes on with what stands in for an answer", async () => {
    const server = await edgeServer(
      { handlers: rounds(asks({ q: form("?") }), textReply("went on")) },
      { answerMs: () => 20 },
    );
    const host = await server.host({ capabilities: CAN_ALL });
    const events = new Events(await host.open(callTool(3)));
    const { id } = await events.message();
    const rest = await events.rest();
    expect(rest).toMatchObject([
      { method: "notifications/cancelled", params: { requestId: id } },
      { id: 3, result: { content: [{ text: "went on" }] } },
    ]);
    expect(server.port.calls[1]?.inputResponses?.responses).toEqual({ q: { action: "cancel" } });
  });
});

describe("the form of a question", () => {
  const seenBy = async (version: string, question: object): Promise<Message> => {
    const server = await edgeServer({ handlers: rounds(asks({ q: question }), textReply("ok")) });
    const host = await server.host({ version, capabilities: CAN_ALL });
    const events = new Events(await host.open(callTool()));
    const message = await events.message();
    await host.respond(message.id, { action: "decline" });
    await events.rest();
    return message;
  };

  test("of a URL has an elicitationId for 2025-11-25: the server's, or one that is made", async () => {
    const url = (more: object) => ({
      method: "elicitation/create",
      params: { mode: "url", message: "m", url: "https://x.test/", ...more },
    });
    const made = await seenBy("2025-11-25", url({}));
    expect(made.params).toEqual({
      ...url({}).params,
      elicitationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect((await seenBy("2025-11-25", url({ elicitationId: "mine" }))).params?.elicitationId).toBe("mine");
  });

  test("as a form has no mode for 2025-06-18, and enums as that revision wrote them", async () => {
    const titled = {
      type: "string",
      title: "Colour",
      oneOf: [{ const: "#f00", title: "Red" }, { const: "#0f0" }],
      default: "#f00",
    };
    const several = { type: "array", items: { anyOf: [{ const: "a", title: "A" }] } };
    const question = {
      method: "elicitation/create",
      params: {
        mode: "form",
        message: "m",
        requestedSchema: {
          type: "object",
          properties: { titled, several, odd: { oneOf: [{ type: "null" }] } },
        },
      },
    };
    const older = await seenBy("2025-06-18", question);
    expect(older.params).toEqual({
      message: "m",
      requestedSchema: {
        type: "object",
        properties: {
          titled: {
            type: "string",
            title: "Colour",
            enum: ["#f00", "#0f0"],
            enumNames: ["Red", "#0f0"],
            default: "#f00",
          },
          several,
          odd: { oneOf: [{ type: "null" }] },
        },
      },
    });
    expect((await seenBy("2025-11-25", question)).params).toEqual(question.params);
  });

  test("of a completion has no sound in it for 2024-11-05", async () => {
    const sound = { type: "audio", data: "AAAA", mimeType: "audio/wav" };
    const question = {
      method: "sampling/createMessage",
      params: { messages: [{ role: "user", content: sound }], maxTokens: 1 },
    };
    const older = await seenBy("2024-11-05", question);
    expect(older.params?.messages).toMatchObject([{ role: "user", content: { type: "text" } }]);
    expect((await seenBy("2025-03-26", question)).params).toEqual(question.params);
  });
});

describe("what a server says between calls", () => {
  const tell = (
    server: Awaited<ReturnType<typeof edgeServer>>,
    id: string,
    method: string,
    params: JsonObject,
  ) => server.edge.directory.find(id)?.notify?.({ method, params });

  test("is told to a client that listens and wants to hear it, and to nobody else", async () => {
    const server = await edgeServer();
    const [host, deaf] = [await server.host({ version: "2025-06-18" }), await server.host()];
    const events = await host.listen();
    await host.request("logging/setLevel", { level: "error" });
    tell(server, deaf.sessionId, "notifications/message", { level: "error", data: "nobody listens" });
    tell(server, host.sessionId, "notifications/message", { level: "info", data: "too quiet" });
    tell(server, host.sessionId, "notifications/progress", { progressToken: 1, progress: 1 });
    tell(server, host.sessionId, "notifications/elicitation/complete", { elicitationId: "e" });
    tell(server, host.sessionId, "notifications/message", { level: "alert", data: "loud" });
    expect(await events.message()).toMatchObject({ params: { data: "loud" } });
    const late = await deaf.listen();
    await Promise.all([host.delete(), deaf.delete()]);
    expect([await events.rest(), await late.rest()]).toEqual([[], []]);
  });
});

describe("between calls", () => {
  const ask = (server: { edge: { directory: { find(id: string): unknown } } }, id: string) =>
    server.edge.directory.find(id) as
      | { request(request: object, signal: AbortSignal): Promise<object> }
      | undefined;

  test("a client is asked on its GET stream", async () => {
    const server = await edgeServer();
    const host = await server.host({ capabilities: CAN_ALL });
    const answer = ask(server, host.sessionId)?.request(ROOTS, new AbortController().signal);
    const events = await host.listen();
    const question = await events.message();
    expect(question).toEqual({ jsonrpc: "2.0", id: question.id, method: "roots/list" });
    await host.respond(question.id, { roots: [{ uri: "file:///a" }] });
    expect(await answer).toEqual({ roots: [{ uri: "file:///a" }] });
    await events.cancel();
  });

  test("a client that cannot be asked, refuses, or is gone rejects with what it said", async () => {
    const server = await edgeServer();
    const signal = new AbortController().signal;
    const mute = await server.host();
    await mute.listen();
    await expect(ask(server, mute.sessionId)?.request(ROOTS, signal)).rejects.toMatchObject({
      options: { rpc: -32601 },
    });
    const host = await server.host({ capabilities: CAN_ALL });
    const stream = await host.listen();
    const refused = expect(ask(server, host.sessionId)?.request(ROOTS, signal)).rejects.toMatchObject({
      message: "no roots today",
      options: { rpc: -5 },
    });
    const { id } = await stream.message();
    await host.post({ jsonrpc: "2.0", id, error: { code: -5, message: "no roots today" } });
    await refused;
    const open = expect(ask(server, host.sessionId)?.request(ROOTS, signal)).rejects.toMatchObject({
      code: "cancelled",
    });
    await stream.message();
    await host.delete();
    await open;
    expect(ask(server, host.sessionId)).toBeUndefined();
  });

  test("whoever takes the question back has the client told so", async () => {
    const server = await edgeServer();
    const host = await server.host({ capabilities: CAN_ALL });
    const events = await host.listen();
    const giveUp = new AbortController();
    const answer = expect(ask(server, host.sessionId)?.request(ROOTS, giveUp.signal)).rejects.toMatchObject({
      code: "cancelled",
    });
    const { id } = await events.message();
    giveUp.abort();
    await answer;
    expect(await events.message()).toMatchObject({
      method: "notifications/cancelled",
      params: { requestId: id },
    });
    await events.cancel();
  });
});
