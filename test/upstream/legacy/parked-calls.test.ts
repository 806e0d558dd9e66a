/** Calls that are parked until a host comes back with answers: retry, timeout, cancel, and limits. */

import { describe, expect, test, vi } from "vitest";
import type { Call, RoundState } from "../../../src/core/call.js";
import type { Client } from "../../../src/core/client.js";
import { ParkedCalls } from "../../../src/upstream/legacy/parked-calls.js";
import type { Envelope } from "../../../src/wire/envelope.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { legacyServer, SILENCE } from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { calling, failure, meet, resultOf, settled } from "../../support/met-upstream.js";
import { answering, asked, curious, host, session, soon, who } from "./questions-support.js";

fakeTime();

describe("a parked call", () => {
  const parking = async (changes: Partial<Client> = {}, limits = {}) => {
    const server = curious();
    const parked = new ParkedCalls({
      total: 100,
      perPrincipal: 100,
      perServer: 100,
      answerMs: 60_000,
      ...limits,
    });
    const { upstream } = await meet(server, {}, { parked });
    const first = calling({ client: host(changes) });
    const { state } = asked(await soon(upstream.call(first.call)));
    const accept = { responses: { elicitation_1: { action: "accept" } }, state };
    return { server, upstream, parked, first, state, accept };
  };

  test("continues once: the same requestState is not accepted again", async () => {
    const { upstream, first, accept, parked } = await parking();
    await soon(upstream.call(answering(first, accept).call));
    expect(parked.size).toBe(0);
    expect(await failure(upstream.call(answering(first, accept).call))).toMatchObject({
      code: "state_rejected",
    });
  });

  test.each<[string, Partial<Call>]>([
    ["another principal", { client: host({ principal: { id: "eve", groups: [], claims: {} } }) }],
    ["another tool", { params: { name: "rm", arguments: {} } }],
    ["other arguments", { params: { name: "echo", arguments: { path: "/" } } }],
    ["another method", { method: "prompts/get" }],
  ])("does not resume for %s, and still does for its own client", async (_what, changes) => {
    const { upstream, first, accept } = await parking();
    const stolen = answering(first, accept, changes);
    expect(await failure(upstream.call(stolen.call))).toMatchObject({ code: "state_rejected" });
    expect(await soon(upstream.call(answering(first, accept).call))).toMatchObject({ kind: "result" });
  });

  test("continues although the _meta of the next round differs, with its own progress token", async () => {
    const server = legacyServer().on("tools/call", async (params, ask) => {
      await ask.ask("elicitation/create", who);
      ask.say("notifications/progress", { ...(params._meta as JsonObject), progress: 1 });
      return {};
    });
    const { upstream } = await meet(server);
    const first = calling({ client: host(), params: { name: "echo", _meta: { progressToken: "one" } } });
    const { state } = asked(await soon(upstream.call(first.call)));
    const params = { _meta: { progressToken: 2 }, name: "echo" };
    const second = answering(first, { responses: { elicitation_1: {} }, state }, { params });
    await soon(upstream.call(second.call));
    expect(second.notices).toEqual([
      { method: "notifications/progress", params: { progressToken: 2, progress: 1 } },
    ]);
  });

  test.each<RoundState>([
    { parked: "token of another process" },
    { server: "state of a modern server that had this name before" },
  ])("is not repeated if it is unknown here: its outcome is unknown: %j", async (state) => {
    const { upstream, first, server } = await parking();
    const lost = answering(first, { responses: {}, state });
    expect(await failure(upstream.call(lost.call))).toMatchObject({
      code: "outcome_unknown",
      retryable: false,
    });
    expect(server.sent("tools/call")).toHaveLength(1);
  });

  test("that is not resumed times out: the server gets a cancel, and its question an answer", async () => {
    const { upstream, server, parked, first, accept } = await parking();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.params("notifications/cancelled").requestId).toBe(server.sent("tools/call")[0]?.message.id);
    expect(server.received.at(-1)?.message.result).toEqual({ action: "cancel" });
    expect(parked.size).toBe(0);
    expect(await failure(upstream.call(answering(first, accept).call))).toMatchObject({
      code: "state_rejected",
      message: "the requestState has expired",
    });
  });

  test("whose server is lost has an unknown outcome, and is not retried", async () => {
    const { upstream, server, first, accept } = await parking();
    server.channel.end("was ended by SIGKILL");
    await vi.advanceTimersByTimeAsync(5_000);
    const error = await failure(soon(upstream.call(answering(first, accept).call)));
    expect(error).toMatchObject({ code: "outcome_unknown" });
    expect(error.message).toContain("SIGKILL");
    expect(server.sent("tools/call")).toHaveLength(1);
  });

  test("that the server completes by itself keeps its result for the resuming client", async () => {
    const server = legacyServer().on("tools/call", async (_params, ask) => {
      void ask.ask("elicitation/create", who);
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      return { told: "I waited long enough" };
    });
    const { upstream } = await meet(server);
    const first = calling({ client: host() });
    const { state } = asked(await soon(upstream.call(first.call)));
    await vi.advanceTimersByTimeAsync(10_000);
    const reply = await soon(
      upstream.call(answering(first, { responses: { elicitation_1: {} }, state }).call),
    );
    expect(resultOf(reply)).toEqual({ told: "I waited long enough" });
  });

  test("that the server ends leaves no pending question: each is answered, once", async () => {
    const answers: Envelope[] = [];
    const server = legacyServer().on("tools/call", async (_params, ask) => {
      for (const [method, params] of [
        ["elicitation/create", who],
        ["sampling/createMessage", { maxTokens: 1 }],
      ] as const)
        void ask.ask(method, params).then((answer) => answers.push(answer));
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      return { told: "I waited long enough" };
    });
    const { upstream } = await meet(server);
    const first = calling({ client: host() });
    const { state } = asked(await soon(upstream.call(first.call)));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(answers).toMatchObject([
      { result: { action: "cancel" } },
      { error: { code: -32603, message: "its call has ended" } },
    ]);
    await soon(upstream.call(answering(first, { responses: { elicitation_1: {} }, state }).call));
    expect(server.received.filter(({ message }) => message.method === undefined)).toHaveLength(2);
  });

  test("is not cancelled when the stream of a client without a session ends", async () => {
    const { upstream, server, first, accept } = await parking();
    first.giveUp();
    await settled();
    expect(server.sent("notifications/cancelled")).toHaveLength(0);
    expect(await soon(upstream.call(answering(first, accept).call))).toMatchObject({ kind: "result" });
  });

  test("is cancelled when a session cancels its request before the response", async () => {
    const { server, first, parked } = await parking({ session: true });
    first.giveUp();
    await settled();
    expect(server.params("notifications/cancelled").requestId).toBe(server.sent("tools/call")[0]?.message.id);
    expect(server.received.at(-1)?.message.result).toEqual({ action: "cancel" });
    expect(parked.size).toBe(0);
  });

  test("can be cancelled in the next round", async () => {
    const server = legacyServer().on("tools/call", async (_params, ask) => {
      await ask.ask("elicitation/create", who);
      return SILENCE;
    });
    const { upstream } = await meet(server);
    const first = calling({ client: host() });
    const { state } = asked(await soon(upstream.call(first.call)));
    const second = answering(first, { responses: { elicitation_1: {} }, state });
    const reply = failure(upstream.call(second.call));
    await settled();
    second.giveUp();
    expect((await reply).code).toBe("cancelled");
    expect(server.sent("notifications/cancelled")).toHaveLength(1);
  });

  test("ends with its session, and the connection that was kept for it", async () => {
    const { upstream, server, first, accept } = await parking({ session: true });
    upstream.releaseClient(first.call.client.affinity);
    await settled();
    expect(server.channel.isClosed).toBe(true);
    expect(await failure(upstream.call(answering(first, accept).call))).toMatchObject({
      code: "outcome_unknown",
    });
  });

  test.each([
    ["in all", { total: 1 }],
    ["of one principal", { perPrincipal: 1 }],
    ["at one server", { perServer: 1 }],
  ])("is one too many %s: the server gets an error, and continues", async (_what, limits) => {
    const { upstream } = await parking({}, limits);
    const reply = await soon(upstream.call(calling({ client: host() }).call));
    expect(resultOf(reply)).toEqual({ told: { action: "cancel" } });
  });

  test("of a session does not count: its request stays open", async () => {
    const { upstream } = await parking({}, { total: 1 });
    for (const affinity of ["s1", "s2"]) {
      const mine = calling({ client: session({ affinity }) });
      expect(asked(await soon(upstream.call(mine.call))).keys).toEqual(["elicitation_1"]);
    }
  });

  test("is refused if the config allows none: the client gets an error, the server a cancel", async () => {
    const parked = new ParkedCalls({ total: 0, perPrincipal: 1, perServer: 1, answerMs: 60_000 });
    const { server, upstream } = await meet(curious(), {}, { parked });
    const error = await failure(soon(upstream.call(calling({ client: host() }).call)));
    expect(error).toMatchObject({
      code: "denied",
      options: { rpc: -32021, data: { requiredCapabilities: { elicitation: {} } } },
    });
    expect(server.params("notifications/cancelled").requestId).toBe(server.sent("tools/call")[0]?.message.id);
    const mine = calling({ client: session() });
    expect(asked(await soon(upstream.call(mine.call))).keys).toEqual(["elicitation_1"]);
  });
});
