/** Questions of legacy servers during a call, passed to hosts of both eras. */

import { describe, expect, test, vi } from "vitest";
import type { Client } from "../../../src/core/client.js";
import type { RefusedQuestion } from "../../../src/upstream/legacy/server-questions.js";
import { type Envelope, messagesIn } from "../../../src/wire/envelope.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { readMessages } from "../../../src/wire/message.js";
import { legacyServer, SILENCE } from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { calling, meet, resultOf, settled } from "../../support/met-upstream.js";
import { answering, asked, curious, host, over, session, soon, who } from "./questions-support.js";

fakeTime();

describe.each([
  ["a pipe", {}],
  ["HTTP", over],
])("over %s a question in the middle of a call", (_way, config) => {
  test("parks the call, and the answer resumes it", async () => {
    const { server, upstream } = await meet(curious(), config);
    const first = calling({ client: host() });
    const { requests, state, keys } = asked(await soon(upstream.call(first.call)));
    expect(requests).toEqual({
      elicitation_1: { method: "elicitation/create", params: { ...who, message: "files: who?" } },
    });
    const answer = { action: "accept", content: { name: "Ada" } };
    const reply = await soon(
      upstream.call(answering(first, { responses: { [keys[0] ?? ""]: answer }, state }).call),
    );
    expect(resultOf(reply)).toEqual({ told: answer });
    expect(server.sent("tools/call")).toHaveLength(1);
  });

  test("parks a call with large arguments, which resumes with the same ones only", async () => {
    const { upstream } = await meet(curious(), config);
    const params = (last: string) => ({
      name: "echo",
      arguments: { all: Array.from({ length: 20_000 }, () => "x"), last },
    });
    const first = calling({ client: host(), params: params("a") });
    const { state } = asked(await soon(upstream.call(first.call)));
    const answers = { responses: { elicitation_1: { action: "decline" } }, state };
    const other = upstream.call(answering(first, answers, { params: params("b") }).call);
    await expect(soon(other)).rejects.toMatchObject({ code: "state_rejected" });
    const same = answering(first, answers, { params: params("a") });
    expect(resultOf(await soon(upstream.call(same.call)))).toEqual({ told: { action: "decline" } });
  });

  test("comes together with others that are asked at the same time", async () => {
    const server = legacyServer().on("tools/call", async (_params, ask) => {
      const answers = await Promise.all([
        ask.ask("elicitation/create", who),
        ask.ask("sampling/createMessage", { maxTokens: 1 }),
      ]);
      return { told: answers.map(({ result }) => result) };
    });
    const { upstream } = await meet(server, config);
    const first = calling({ client: host() });
    const { state, keys } = asked(await soon(upstream.call(first.call)));
    expect(keys).toEqual(["elicitation_1", "sampling_2"]);
    const responses = { sampling_2: { role: "assistant" }, elicitation_1: { action: "decline" } };
    const reply = await soon(upstream.call(answering(first, { responses, state }).call));
    expect(resultOf(reply)).toEqual({ told: [{ action: "decline" }, { role: "assistant" }] });
  });

  test("may be followed by others, each round under a state of its own", async () => {
    const server = legacyServer().on("tools/call", async (_params, ask) => {
      const told: unknown[] = [];
      for (let round = 1; round <= 3; round += 1) told.push((await ask.ask("roots/list")).result);
      return { told };
    });
    const { upstream } = await meet(server, config);
    const first = calling({ client: host() });
    let reply = await soon(upstream.call(first.call));
    const states: unknown[] = [];
    while (reply.kind === "input_required") {
      const { state, keys } = asked(reply);
      states.push(state.parked);
      const responses = { [keys[0] ?? ""]: { roots: [{ uri: `file:///${states.length}` }] } };
      reply = await soon(upstream.call(answering(first, { responses, state }).call));
    }
    expect(new Set(states).size).toBe(3);
    expect(resultOf(reply)).toEqual({
      told: [1, 2, 3].map((round) => ({ roots: [{ uri: `file:///${round}` }] })),
    });
    expect(server.sent("tools/call")).toHaveLength(1);
  });

  test("that is not answered with the others is asked again, alone", async () => {
    const server = legacyServer().on("tools/call", async (_params, ask) => {
      const answers = await Promise.all([ask.ask("elicitation/create", who), ask.ask("roots/list")]);
      return { told: answers.map(({ result }) => result) };
    });
    const { upstream } = await meet(server, config);
    const first = calling({ client: host() });
    const { state } = asked(await soon(upstream.call(first.call)));
    const some = answering(first, { responses: { roots_2: { roots: [] }, unknown: {} }, state });
    const again = asked(await soon(upstream.call(some.call)));
    expect(again.keys).toEqual(["elicitation_1"]);
    const rest = answering(first, { responses: { elicitation_1: { action: "cancel" } }, state: again.state });
    expect(resultOf(await soon(upstream.call(rest.call)))).toEqual({
      told: [{ action: "cancel" }, { roots: [] }],
    });
  });

  test("that the client refuses is answered with the client's error", async () => {
    const { upstream } = await meet(curious("sampling/createMessage", {}), config);
    const first = calling({ client: session() });
    const { state } = asked(await soon(upstream.call(first.call)));
    const refusals = { sampling_1: { code: -1, message: "User rejected sampling request" } };
    const reply = await soon(upstream.call(answering(first, { responses: {}, refusals, state }).call));
    expect(resultOf(reply)).toEqual({ told: refusals.sampling_1 });
  });

  test("that the server cancels is not awaited", async () => {
    let go: () => void = () => {};
    const server = legacyServer().on("tools/call", async (_params, ask) => {
      void ask.ask("elicitation/create", who);
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      ask.say("notifications/cancelled", { requestId: "question-1" });
      return { told: "nothing" };
    });
    const { upstream } = await meet(server, config);
    const first = calling({ client: host() });
    const { state } = asked(await soon(upstream.call(first.call)));
    go();
    await settled();
    const late = answering(first, { responses: { elicitation_1: { action: "accept" } }, state });
    expect(resultOf(await soon(upstream.call(late.call)))).toEqual({ told: "nothing" });
    expect(server.received.filter(({ message }) => message.id === "question-1")).toEqual([]);
  });

  test("is reported as closed when it is cancelled, or its server is lost", async () => {
    const server = legacyServer().on("tools/call", async (_params, ask) => {
      const answers = ["a", "b"].map((message) => ask.ask("elicitation/create", { ...who, message }));
      return { told: (await Promise.all(answers)).map(({ result }) => result) };
    });
    const { upstream } = await meet(server, config);
    const reply = await soon(upstream.call(calling({ client: host() }).call));
    const open = reply.kind === "input_required" ? reply.open : undefined;
    const gone: string[] = [];
    const stop = open?.watch((key) => gone.push(key));
    server.channel.say("notifications/cancelled", { requestId: "question-1" });
    expect(gone).toEqual(["elicitation_1"]);
    server.channel.end();
    await vi.advanceTimersByTimeAsync(100);
    expect(gone).toEqual(["elicitation_1", "elicitation_2"]);
    stop?.();
    const late: string[] = [];
    open?.watch((key) => late.push(key));
    expect(late).toEqual(gone);
  });

  test("is not mixed with notifications: progress and log of a call without a session are dropped while it is parked", async () => {
    let say: (method: string, params: JsonObject) => void = () => {};
    const server = legacyServer().on("tools/call", async (_params, ask) => {
      say = (method, params) => ask.say(method, params);
      await ask.ask("elicitation/create", who);
      return {};
    });
    const { upstream } = await meet(server, config);
    const [mine, mySession] = [calling({ client: host() }), calling({ client: session() })];
    await soon(upstream.call(mine.call));
    say("notifications/message", { level: "info", data: 1 });
    expect(mine.notices).toEqual([]);
    await soon(upstream.call(mySession.call));
    say("notifications/message", { level: "info", data: 2 });
    expect(mySession.notices).toHaveLength(1);
  });
});

describe("the form of a question", () => {
  const put = async (method: string, params: JsonObject, of: Client, options = {}) => {
    const { upstream } = await meet(curious(method, params), {}, options);
    const { requests } = asked(await soon(upstream.call(calling({ client: of }).call)));
    await upstream.close();
    return Object.values(requests)[0];
  };

  test("it keeps unknown members, and drops those of the hop to the server", async () => {
    const params = {
      messages: [{ role: "user", content: { type: "hologram" } }],
      vendor: 1,
      task: {},
      _meta: { progressToken: 3 },
    };
    expect(await put("sampling/createMessage", params, host())).toEqual({
      method: "sampling/createMessage",
      params: { messages: params.messages, vendor: 1 },
    });
  });

  test("includeContext of all servers is removed", async () => {
    const params = { messages: [], includeContext: "allServers" };
    expect(await put("sampling/createMessage", params, host())).toMatchObject({
      params: { includeContext: "none" },
    });
    expect(await put("sampling/createMessage", params, host(), { isAggregated: () => false })).toMatchObject({
      params,
    });
  });

  test("a single server is not named", async () => {
    expect(await put("elicitation/create", who, host(), { isAggregated: () => false })).toEqual({
      method: "elicitation/create",
      params: who,
    });
  });

  test("the id of a link is for sessions only, which can receive its completion", async () => {
    const link = { mode: "url", url: "https://example.com", elicitationId: "e1", message: "log in" };
    expect(await put("elicitation/create", link, session())).toMatchObject({
      params: { elicitationId: "e1" },
    });
    expect((await put("elicitation/create", link, host())) as JsonObject).not.toHaveProperty([
      "params",
      "elicitationId",
    ]);
  });
});

test("too many questions in one call are refused above a limit", async () => {
  const answers: Envelope[] = [];
  const server = legacyServer().on("tools/call", (_params, ask) => {
    for (let index = 0; index < 40; index += 1)
      void ask.ask("elicitation/create", who).then((answer) => answers.push(answer));
    return SILENCE;
  });
  const { upstream } = await meet(server);
  const { keys } = asked(await soon(upstream.call(calling({ client: host() }).call)));
  expect(keys).toHaveLength(32);
  expect(answers.map(({ error }) => error?.code)).toEqual(Array.from({ length: 8 }, () => -32603));
});

test("a malformed question is answered with an error under its own id, and not asked", async () => {
  const server = legacyServer().on("tools/call", () => SILENCE);
  const refused = vi.fn<(why: RefusedQuestion) => void>();
  const { upstream } = await meet(server, {}, { onRefused: refused });
  void upstream.call(calling({ client: host() }).call).catch(() => {});
  await settled();
  const question = '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","Params":{"message":"who?"}}';
  for (const document of [question, `[${question}]`]) {
    for (const message of messagesIn(readMessages(document)))
      for (const hear of server.channel.listeners) hear(message);
    await settled();
    expect(server.last.message).toMatchObject({
      id: "q",
      error: { code: -32600, message: '"Params" could be read as "params"' },
    });
  }
  expect(refused.mock.calls).toEqual([["malformed"], ["malformed"]]);
});
