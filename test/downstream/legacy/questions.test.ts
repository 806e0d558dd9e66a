/** Questions of servers that legacy hosts answer during a call: elicitation, sampling, roots; cancel and timeout. */
import { describe, expect, test } from "vitest";
import type { Reply } from "../../../src/core/call.js";
import { errorReply, textReply } from "../../support/fake-port.js";
import { askedHost, asks, CAN_ALL, callTool, form, ROOTS, rounds, SAMPLING } from "./questions-support.js";
import { Events, edgeHost, edgeServer } from "./support.js";

describe("an answer", () => {
  test("that is ambiguous JSON is rejected; its server gets an error, and over HTTP its host too", async () => {
    const { server, host, events } = await askedHost(
      { id: 7 },
      asks({ q: form("sure?") }, "s"),
      textReply("done"),
    );
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
    const { server, host, events } = await askedHost(
      { id: 7 },
      asks({ q: form("name?") }, "s3cret\u0000state"),
      textReply("hello"),
    );
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
    const { server, host, events } = await askedHost(
      {},
      asks({ one: form("1"), two: SAMPLING, __proto__x: ROOTS, three: form("3") }),
      textReply("ok"),
    );
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
    const { server, host, events } = await askedHost(
      {},
      asks({ q: form("1") }, "a"),
      asks({ q: form("2") }),
      asks({}, "c"),
      textReply("done"),
    );
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
    const { host } = await edgeHost(
      {
        handlers: {
          "prompts/get": (call) => (call.inputResponses === undefined ? asks({ q: ROOTS }) : textReply("p")),
        },
      },
      { capabilities: CAN_ALL },
    );
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

  test.each([
    ["the gateway refuses", { ...errorReply(-31503, "too busy"), refusal: "overloaded" }, true],
    ["the server answers", textReply("done"), false],
  ])(
    "whose next round %s ends the call at the server only if it is still open there",
    async (_, reply, isGivenUp) => {
      const { server, host, events } = await askedHost({}, asks({ q: form("?") }), reply);
      const { id } = await events.message();
      await host.post({ jsonrpc: "2.0", id, result: { action: "accept", content: { a: "b" } } });
      await events.rest();
      expect(server.port.calls.map(({ signal }) => signal.aborted)).toEqual([isGivenUp, isGivenUp]);
    },
  );

  test("and its answer survive a dropped stream", async () => {
    const { host } = await edgeHost(
      { handlers: rounds(asks({ q: form("?") }), textReply("ok")) },
      { capabilities: CAN_ALL },
    );
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
    const { server, host } = await edgeHost(
      { handlers: rounds(asks({ q: form("?") }), textReply("ok")) },
      { capabilities: CAN_ALL },
    );
    const events = await host.listen();
    const answer = host.post(callTool(), { accept: "application/json" });
    await host.respond((await events.message()).id, { action: "accept" });
    expect((await answer).json).toMatchObject({ id: 1, result: { content: [{ text: "ok" }] } });
    expect(server.port.calls[1]?.inputResponses?.responses).toEqual({ q: { action: "accept" } });
    await events.cancel();
  });

  test("is not asked at all without one", async () => {
    const { server, host } = await edgeHost(
      { handlers: rounds(asks({ q: form("?") }), textReply("went on")) },
      { capabilities: CAN_ALL },
    );
    const answer = await host.post(callTool(), { accept: "application/json" });
    expect(answer.json).toMatchObject({ id: 1, result: { content: [{ text: "went on" }] } });
    expect(server.port.calls[1]?.inputResponses?.responses).toEqual({ q: { action: "cancel" } });
  });
});

describe("a question that the server cancels", () => {
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

  test("is cancelled at the host, and the others are answered without it", async () => {
    const { reply, hearers, takeBack } = watched();
    const { server, host, events } = await askedHost({ id: 3 }, reply, textReply("went on"));
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

  test("as the last of its round lets the call continue at once", async () => {
    const { reply, takeBack } = watched();
    const { server, events } = await askedHost({ id: 3 }, reply, textReply("went on"));
    await events.message();
    await events.message();
    takeBack("a");
    takeBack("b");
    expect((await events.rest()).at(-1)).toMatchObject({ id: 3, result: { content: [{ text: "went on" }] } });
    expect(server.port.calls[1]?.inputResponses).toEqual({ responses: {}, sealedState: "s" });
  });
});

describe("a call that is cancelled while its question is open", () => {
  test("takes the question back on the same stream, and is not made again", async () => {
    const { server, host, events } = await askedHost({ id: 3 }, asks({ q: form("?") }), textReply("never"));
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
    const { server, host, events } = await askedHost({ id: 3 }, asks({ q: form("?") }), textReply("never"));
    await events.message();
    await host.delete();
    const rest = await events.rest();
    expect(rest.at(-1)).toMatchObject({ id: 3, error: { data: { cardea: { code: "cancelled" } } } });
    expect(server.port.calls).toHaveLength(1);
  });

  test("by a timeout, continues with a default answer", async () => {
    const { server, host } = await edgeHost(
      { handlers: rounds(asks({ q: form("?") }), textReply("went on")) },
      { capabilities: CAN_ALL },
      { answerMs: () => 20 },
    );
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
