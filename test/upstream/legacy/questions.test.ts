/** Questions of a legacy server: to whom they go, how they wait, and how the answers come back. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Call, InputResponses, Reply } from "../../../src/core/call.js";
import type { Client, ClientChannel, ClientDirectory } from "../../../src/core/client.js";
import { GatewayError } from "../../../src/core/errors.js";
import type { RoundState } from "../../../src/core/round-state.js";
import { ParkedCalls } from "../../../src/upstream/legacy/parked-calls.js";
import type { RefusedQuestion } from "../../../src/upstream/legacy/server-requests.js";
import { type Envelope, messagesIn } from "../../../src/wire/envelope.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { readMessages } from "../../../src/wire/message.js";
import { type FakeServer, HTTP, legacyServer, RpcFailure, SILENCE } from "../../support/fake-channel.js";
import {
  type Calling,
  calling,
  client,
  failure,
  meet,
  resultOf,
  settled,
} from "../../support/met-upstream.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const over = { transport: HTTP };
const CAPABLE = { sampling: { tools: {} }, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };
const host = (changes: Partial<Client> = {}) => client({ capabilities: CAPABLE, ...changes });
const session = (changes: Partial<Client> = {}) => host({ session: true, ...changes });
const who = {
  message: "who?",
  requestedSchema: { type: "object", properties: { name: { type: "string", pattern: "x" } } },
};

/** Waits for the reply, and for the window in which questions are gathered. */
async function soon<T>(promise: Promise<T>): Promise<T> {
  const outcome = promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  await vi.advanceTimersByTimeAsync(100);
  const settledOutcome = await outcome;
  if ("error" in settledOutcome) throw settledOutcome.error;
  return settledOutcome.value;
}

function asked(reply: Reply): {
  readonly requests: JsonObject;
  readonly state: RoundState;
  readonly keys: readonly string[];
} {
  if (reply.kind !== "input_required" || reply.state === undefined)
    throw new Error(`not asked: ${JSON.stringify(reply)}`);
  return { requests: reply.requests, state: reply.state, keys: Object.keys(reply.requests) };
}

/** The next round of the same call, with these answers. */
const answering = ({ call }: Calling, inputResponses: InputResponses, changes: Partial<Call> = {}): Calling =>
  calling({ method: call.method, params: call.params, client: call.client, inputResponses, ...changes });

/** A server whose tool asks one question, and answers with what it was told. */
const curious = (method = "elicitation/create", params: JsonObject = who): FakeServer =>
  legacyServer().on("tools/call", async (_params, ask) => {
    const { result, error } = await ask.ask(method, params);
    return { told: result ?? error };
  });

describe.each([
  ["a pipe", {}],
  ["HTTP", over],
])("over %s a question in the middle of a call", (_way, config) => {
  test("parks the call, and the answer lets it go on where it stopped", async () => {
    const server = curious();
    const { upstream } = await meet(server, config);
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

  test("parks a call of large arguments, which goes on with no others", async () => {
    const server = curious();
    const { upstream } = await meet(server, config);
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

  test("that the client refuses is refused to the server in the client's words", async () => {
    const server = curious("sampling/createMessage", {});
    const { upstream } = await meet(server, config);
    const first = calling({ client: session() });
    const { state } = asked(await soon(upstream.call(first.call)));
    const refusals = { sampling_1: { code: -1, message: "User rejected sampling request" } };
    const reply = await soon(upstream.call(answering(first, { responses: {}, refusals, state }).call));
    expect(resultOf(reply)).toEqual({ told: refusals.sampling_1 });
  });

  test("that the server takes back is not waited for", async () => {
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

  test("tells whoever watches when it wants no answer any more: taken back, or its server is gone", async () => {
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

  test("goes unheard by others: progress and log of a call without a session are dropped while it waits", async () => {
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
    await upstream.close();
  });
});

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

  test("goes on once: the same state is not taken again", async () => {
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
  ])("does not go on for %s, and still does for its own", async (_what, changes) => {
    const { upstream, first, accept } = await parking();
    const stolen = answering(first, accept, changes);
    expect(await failure(upstream.call(stolen.call))).toMatchObject({ code: "state_rejected" });
    expect(await soon(upstream.call(answering(first, accept).call))).toMatchObject({ kind: "result" });
  });

  test("goes on although the metadata of the next round is another, and with its own progress token", async () => {
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
  ])("is not made again where it is unknown here: its outcome is not known: %j", async (state) => {
    const { upstream, first, server } = await parking();
    const lost = answering(first, { responses: {}, state });
    expect(await failure(upstream.call(lost.call))).toMatchObject({
      code: "outcome_unknown",
      retryable: false,
    });
    expect(server.sent("tools/call")).toHaveLength(1);
  });

  test("that nobody comes back to is given up: the server is told, and its question answered", async () => {
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

  test("whose server is gone has an unknown outcome, and is not made again", async () => {
    const { upstream, server, first, accept } = await parking();
    server.channel.end("was ended by SIGKILL");
    await vi.advanceTimersByTimeAsync(5_000);
    const error = await failure(soon(upstream.call(answering(first, accept).call)));
    expect(error).toMatchObject({ code: "outcome_unknown" });
    expect(error.message).toContain("SIGKILL");
    expect(server.sent("tools/call")).toHaveLength(1);
  });

  test("that the server ends by itself has its result kept for whoever comes back", async () => {
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

  test("that the server ends by itself leaves no question open: each is answered, once", async () => {
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
      { error: { code: -32603, message: "the call it was asked in has ended" } },
    ]);
    await soon(upstream.call(answering(first, { responses: { elicitation_1: {} }, state }).call));
    expect(server.received.filter(({ message }) => message.method === undefined)).toHaveLength(2);
  });

  test("is not given up when the stream of a client without a session ends", async () => {
    const { upstream, server, first, accept } = await parking();
    first.giveUp();
    await settled();
    expect(server.sent("notifications/cancelled")).toHaveLength(0);
    expect(await soon(upstream.call(answering(first, accept).call))).toMatchObject({ kind: "result" });
  });

  test("is given up when a session cancels its request, whose end has not come yet", async () => {
    const { server, first, parked } = await parking({ session: true });
    first.giveUp();
    await settled();
    expect(server.params("notifications/cancelled").requestId).toBe(server.sent("tools/call")[0]?.message.id);
    expect(server.received.at(-1)?.message.result).toEqual({ action: "cancel" });
    expect(parked.size).toBe(0);
  });

  test("can be given up in the round after", async () => {
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
  ])("is one too many %s: the server is told that nobody answers, and goes on", async (_what, limits) => {
    const { upstream } = await parking({}, limits);
    const reply = await soon(upstream.call(calling({ client: host() }).call));
    expect(resultOf(reply)).toEqual({ told: { action: "cancel" } });
    await upstream.close();
  });

  test("of a session counts towards no limit: its request is open all the while", async () => {
    const { upstream } = await parking({}, { total: 1 });
    for (const affinity of ["s1", "s2"]) {
      const mine = calling({ client: session({ affinity }) });
      expect(asked(await soon(upstream.call(mine.call))).keys).toEqual(["elicitation_1"]);
    }
    await upstream.close();
  });

  test("there is none where the config allows none: the client hears what it cannot have, the server that nobody waits", async () => {
    const parked = new ParkedCalls({ total: 0, perPrincipal: 1, perServer: 1, answerMs: 60_000 });
    const server = curious();
    const { upstream } = await meet(server, {}, { parked });
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

describe("whose a question is", () => {
  interface World {
    readonly port?: Omit<ClientChannel, "client">;
    readonly owner?: Client;
  }
  const worldOf = async (server: FakeServer, config: object, { port, owner }: World = {}) => {
    const refused: RefusedQuestion[] = [];
    const directory: ClientDirectory = {
      find: (affinity) =>
        port === undefined || affinity !== owner?.affinity ? undefined : { ...port, client: owner },
    };
    const met = await meet(server, config, { directory, onRefused: (why) => refused.push(why) });
    return { ...met, refused };
  };
  const hanging = () =>
    legacyServer()
      .on("tools/call", () => SILENCE)
      .on("completion/complete", () => SILENCE)
      .on("tools/list", { tools: [] });
  const start = async ({ upstream }: Awaited<ReturnType<typeof worldOf>>, ...calls: readonly Calling[]) => {
    for (const { call } of calls) void upstream.call(call).catch(() => {});
    await settled();
  };

  test("the stream of its call says so, however many calls there are", async () => {
    const server = curious("elicitation/create", who);
    const world = await worldOf(server, over);
    const owner = session();
    const calls = Array.from({ length: 10 }, (_, index) =>
      calling({ client: owner, params: { name: `t${index}` } }),
    );
    const replies = await soon(Promise.all(calls.map(({ call }) => world.upstream.call(call))));
    const results = await soon(
      Promise.all(
        replies.map((reply, index) => {
          const { state } = asked(reply);
          const responses = { elicitation_1: { action: "accept", content: { index } } };
          return world.upstream.call(answering(calls[index] as Calling, { responses, state }).call);
        }),
      ),
    );
    expect(results.map((reply) => (resultOf(reply).told as { content: JsonObject }).content.index)).toEqual(
      calls.map((_, index) => index),
    );
    await world.upstream.close();
  });

  test("the event stream does not; the only call that may cause questions does", async () => {
    const server = hanging();
    const world = await worldOf(server, over);
    const owner = session();
    const tool = calling({ client: owner });
    const reply = world.upstream.call(tool.call);
    await start(world, calling({ client: owner, method: "completion/complete", params: {} }));
    void server.channel.ask("elicitation/create", who);
    expect(asked(await soon(reply)).keys).toEqual(["elicitation_1"]);
    await world.upstream.close();
  });

  test("of two calls of one session it may be either, so the session is asked between its calls", async () => {
    const server = hanging();
    const owner = session();
    const request = vi.fn(async () => ({ action: "accept" }));
    const world = await worldOf(server, {}, { port: { request }, owner });
    await start(world, calling({ client: owner }), calling({ client: owner }));
    const answer = await server.channel.ask("elicitation/create", {
      ...who,
      task: { ttl: 1 },
      _meta: { progressToken: 1, "v/x": 1 },
    });
    expect(answer.result).toEqual({ action: "accept" });
    expect(request).toHaveBeenCalledWith(
      { method: "elicitation/create", params: { ...who, message: "files: who?", _meta: { "v/x": 1 } } },
      expect.any(AbortSignal),
    );
    await world.upstream.close();
  });

  test("of two calls of a principal it may be either, so it is refused and counted", async () => {
    const server = hanging();
    const world = await worldOf(server, { lease: "principal" });
    const owner = host();
    await start(world, calling({ client: owner }));
    // The connection of the first call, on which a second one can only come when there are no more to be had.
    const { channel } = server;
    const others = Array.from({ length: 8 }, () => calling({ client: owner }));
    await start(world, ...others);
    await vi.advanceTimersByTimeAsync(11_000);
    const answer = await channel.ask("elicitation/create", who);
    expect(answer.error?.code).toBe(-32602);
    expect(world.refused).toEqual(["unattributable"]);
    await world.upstream.close();
  });

  test("of a task that nobody waits for it is not the affair of another client that happens to be calling", async () => {
    const server = hanging();
    const world = await worldOf(server, { lease: "principal" });
    const other = calling({ client: session() });
    await start(world, other);
    const about = { _meta: { "io.modelcontextprotocol/related-task": { taskId: "t1" } } };
    const answer = await server.channel.ask("elicitation/create", { ...who, ...about });
    expect(answer.error?.code).toBe(-32602);
    expect(world.refused).toEqual(["unattributable"]);
    server.channel.say("notifications/message", { level: "info", data: 1, ...about });
    expect(other.notices).toEqual([]);
    await world.upstream.close();
  });

  test("outside all calls it is refused when the session has not answered so many others", async () => {
    const server = hanging();
    const owner = session();
    const request = vi.fn(() => SILENCE);
    const world = await worldOf(server, {}, { port: { request }, owner });
    await world.upstream.list("tools", owner, new AbortController().signal);
    for (let index = 0; index < 32; index += 1) void server.channel.ask("roots/list");
    expect((await server.channel.ask("roots/list")).error?.code).toBe(-32603);
    expect(request).toHaveBeenCalledTimes(32);
    expect(world.refused).toEqual(["too_many"]);
    await world.upstream.close();
  });

  test("outside all calls it is asked once under one id, however often the server repeats it", async () => {
    const server = hanging();
    const owner = session();
    const request = vi.fn(() => SILENCE);
    const world = await worldOf(server, {}, { port: { request }, owner });
    await world.upstream.list("tools", owner, new AbortController().signal);
    for (let index = 0; index < 100; index += 1) {
      for (const hear of server.channel.listeners) hear({ jsonrpc: "2.0", id: "same", method: "roots/list" });
    }
    expect(request).toHaveBeenCalledOnce();
    expect(world.refused).toHaveLength(99);
    await world.upstream.close();
  });

  test("outside all calls it is the session's, whose own words are the answer", async () => {
    const server = hanging();
    const owner = session();
    const request = vi.fn(async (): Promise<JsonObject> => ({ roots: [{ uri: "file:///home" }] }));
    const world = await worldOf(server, {}, { port: { request }, owner });
    await world.upstream.list("tools", owner, new AbortController().signal);
    expect((await server.channel.ask("roots/list")).result).toEqual({ roots: [{ uri: "file:///home" }] });
    request.mockRejectedValueOnce(
      new GatewayError("denied", "downstream", "not now", { rpc: -1, data: { why: "busy" } }),
    );
    expect((await server.channel.ask("roots/list")).error).toEqual({
      code: -1,
      message: "not now",
      data: { why: "busy" },
    });
  });

  test("asked right after the handshake it finds the session as well", async () => {
    const server = hanging().on("notifications/initialized", (_params, { channel }) => {
      if (channel.number > 0) void channel.ask("roots/list");
      return {};
    });
    const owner = session();
    const request = vi.fn(async () => ({ roots: [] }));
    const world = await worldOf(server, {}, { port: { request }, owner });
    await world.upstream.list("tools", owner, new AbortController().signal);
    await settled();
    expect(request).toHaveBeenCalledOnce();
    expect(
      server.received.some(({ message }) => message.id === "question-1" && message.result !== undefined),
    ).toBe(true);
  });

  test("taken back outside all calls it is taken back from the session", async () => {
    const server = hanging();
    const owner = session();
    let signal: AbortSignal | undefined;
    const request = (_question: JsonObject, given: AbortSignal): Promise<JsonObject> => {
      signal = given;
      return SILENCE;
    };
    const world = await worldOf(server, {}, { port: { request }, owner });
    await world.upstream.list("tools", owner, new AbortController().signal);
    void server.channel.ask("roots/list");
    await settled();
    server.channel.say("notifications/cancelled", { requestId: "question-1" });
    expect(signal?.aborted).toBe(true);
  });

  test("outside all calls of clients without a session it is nobody's", async () => {
    const server = hanging();
    const world = await worldOf(server, {});
    await world.upstream.list("tools", host(), new AbortController().signal);
    expect((await server.channel.ask("elicitation/create", who)).error?.code).toBe(-32602);
    expect(world.refused).toEqual(["unattributable"]);
  });

  test("on the shared connection it is nobody's, whatever is under way", async () => {
    const server = hanging();
    const world = await worldOf(server, over);
    await start(world, calling());
    expect((await server.channel.ask("sampling/createMessage", {})).error?.code).toBe(-32601);
    expect(world.refused).toEqual(["not_promised"]);
    await world.upstream.close();
  });

  test("a number that happens to be the id of a call names no call: the server chose it", async () => {
    const server = hanging();
    const owner = session();
    const world = await worldOf(server, {});
    await start(world, calling({ client: owner }), calling({ client: owner }));
    const progressToken = server.sent("tools/call")[0]?.message.id;
    const answer = await server.channel.ask("elicitation/create", { ...who, _meta: { progressToken } });
    expect(answer.error?.code).toBe(-32602);
    await world.upstream.close();
  });

  test("roots can be given in the config, where no client has any", async () => {
    const server = hanging();
    const { upstream } = await meet(server, {}, { roots: [{ uri: "file:///srv" }] });
    expect(server.params("initialize").capabilities).toEqual({ roots: {} });
    expect((await server.channel.ask("roots/list")).result).toEqual({ roots: [{ uri: "file:///srv" }] });
    await upstream.close();
  });
});

describe("how a question is put", () => {
  const put = async (method: string, params: JsonObject, of: Client, options = {}) => {
    const server = curious(method, params);
    const { upstream } = await meet(server, {}, options);
    const { requests } = asked(await soon(upstream.call(calling({ client: of }).call)));
    await upstream.close();
    return Object.values(requests)[0];
  };

  test("it keeps what nobody here knows, and loses what belongs to the hop to the server", async () => {
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

  test("the context of all servers is not for one of them", async () => {
    const params = { messages: [], includeContext: "allServers" };
    expect(await put("sampling/createMessage", params, host())).toMatchObject({
      params: { includeContext: "none" },
    });
    expect(await put("sampling/createMessage", params, host(), { isAggregated: () => false })).toMatchObject({
      params,
    });
  });

  test("a server that is alone need not be named", async () => {
    expect(await put("elicitation/create", who, host(), { isAggregated: () => false })).toEqual({
      method: "elicitation/create",
      params: who,
    });
  });

  test("the id of a link is for sessions only, which can hear of its end", async () => {
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

describe("a server that wants a link visited first", () => {
  const link = { mode: "url", elicitationId: "e1", url: "https://example.com/login", message: "log in" };
  const gated = () => {
    let open = false;
    const server = legacyServer().on("tools/call", () => {
      if (!open) throw new RpcFailure(-32042, "log in first", { elicitations: [link] });
      return { told: "welcome" };
    });
    return {
      server,
      visit: () => {
        open = true;
      },
    };
  };

  test("asks for that, and is called again when it says that it was done", async () => {
    const { server, visit } = gated();
    const { upstream } = await meet(server);
    const first = calling({ client: host() });
    const { requests, state } = asked(await soon(upstream.call(first.call)));
    expect(requests).toEqual({
      elicitation_1: {
        method: "elicitation/create",
        params: { mode: "url", url: link.url, message: "files: log in" },
      },
    });
    const second = upstream.call(
      answering(first, { responses: { elicitation_1: { action: "accept" } }, state }).call,
    );
    await vi.advanceTimersByTimeAsync(10_000);
    expect(server.sent("tools/call")).toHaveLength(1);
    visit();
    server.channel.say("notifications/elicitation/complete", { elicitationId: "e1" });
    expect(resultOf(await soon(second))).toEqual({ told: "welcome" });
  });

  test("that never says so is called again after a while", async () => {
    const { server, visit } = gated();
    const { upstream } = await meet(server);
    const first = calling({ client: host() });
    const { state } = asked(await soon(upstream.call(first.call)));
    visit();
    const second = upstream.call(
      answering(first, { responses: { elicitation_1: { action: "accept" } }, state }).call,
    );
    await vi.advanceTimersByTimeAsync(120_000);
    expect(resultOf(await second)).toEqual({ told: "welcome" });
  });

  test("is not called again when the person declines", async () => {
    const { server } = gated();
    const { upstream } = await meet(server);
    const first = calling({ client: host() });
    const { state } = asked(await soon(upstream.call(first.call)));
    const declined = answering(first, { responses: { elicitation_1: { action: "decline" } }, state });
    expect(await failure(upstream.call(declined.call))).toMatchObject({ code: "approval_declined" });
    expect(server.sent("tools/call")).toHaveLength(1);
  });

  test("is understood by sessions that know the error, and by nobody else", async () => {
    const { server } = gated();
    const { upstream } = await meet(server);
    const old = session({ capabilities: {} });
    expect(await upstream.call(calling({ client: old }).call)).toMatchObject({ error: { code: -32042 } });
    expect(await upstream.call(calling({ client: client() }).call)).toMatchObject({
      error: { code: -32603 },
    });
  });

  test("tells nobody else of the end of what a client was sent to", async () => {
    const server = legacyServer().on("tools/call", () => SILENCE);
    const { upstream } = await meet(server, { lease: "shared" });
    const other = calling({ client: session() });
    void upstream.call(other.call).catch(() => {});
    await settled();
    server.channel.say("notifications/elicitation/complete", { elicitationId: "e1" });
    expect(other.notices).toEqual([]);
    await upstream.close();
  });

  test("tells a session of the end of what it was sent to", async () => {
    const server = legacyServer().on("tools/list", { tools: [] });
    const owner = session();
    const notify = vi.fn();
    const directory = { find: () => ({ client: owner, request: () => SILENCE, notify }) };
    const { upstream } = await meet(server, {}, { directory });
    await upstream.list("tools", owner, new AbortController().signal);
    server.channel.say("notifications/elicitation/complete", { elicitationId: "e1" });
    expect(notify).toHaveBeenCalledWith({
      method: "notifications/elicitation/complete",
      params: { elicitationId: "e1" },
    });
    server.channels[0]?.say("notifications/message", { level: "info", data: "of everybody" });
    expect(notify).toHaveBeenCalledOnce();
  });
});

describe("the level of a server's log", () => {
  const levels = (server: FakeServer): readonly unknown[] =>
    server.sent("logging/setLevel").map(({ message }) => message.params?.level);

  test("is the loudest that any call on the connection wanted, set before that call", async () => {
    const server = legacyServer().on("tools/call", {}).on("logging/setLevel", {});
    const { upstream } = await meet(server);
    for (const logLevel of ["warning", "error", "debug", "info"] as const)
      await upstream.call(calling({ logLevel }).call);
    await upstream.call(calling().call);
    expect(levels(server)).toEqual(["warning", "debug"]);
    const order = server.received
      .map(({ message }) => message.method)
      .filter((method) => method === "tools/call" || method === "logging/setLevel");
    expect(order.slice(0, 2)).toEqual(["logging/setLevel", "tools/call"]);
  });

  test("is everything where a session that named none shares the connection: it must not hear less now", async () => {
    const server = legacyServer().on("tools/call", {}).on("logging/setLevel", {});
    const { upstream } = await meet(server);
    const plain = () => calling({ client: client({ session: true }) }).call;
    await upstream.call(plain());
    expect(levels(server)).toEqual([]);
    await upstream.call(calling({ logLevel: "error" }).call);
    expect(levels(server)).toEqual(["debug"]);
    const other = legacyServer().on("tools/call", {}).on("logging/setLevel", {});
    const late = await meet(other);
    await late.upstream.call(calling({ logLevel: "error" }).call);
    await late.upstream.call(plain());
    expect(levels(other)).toEqual(["error", "debug"]);
  });

  test("is not set where the server does not log, and a server that fails to set it is called all the same", async () => {
    const silent = legacyServer({ capabilities: { tools: {} } }).on("tools/call", {});
    const first = await meet(silent);
    await first.upstream.call(calling({ logLevel: "debug" }).call);
    expect(levels(silent)).toEqual([]);
    const failing = legacyServer().on("tools/call", {});
    const second = await meet(failing);
    expect(await second.upstream.call(calling({ logLevel: "debug" }).call)).toMatchObject({ kind: "result" });
  });

  test("is not waited for when the client gives up, nor for ever, where the server does not answer", async () => {
    const server = legacyServer()
      .on("tools/call", {})
      .on("logging/setLevel", () => SILENCE);
    const { upstream } = await meet(server);
    const impatient = calling({ logLevel: "error" });
    const given = failure(upstream.call(impatient.call));
    await settled();
    impatient.giveUp();
    expect((await given).code).toBe("cancelled");
    expect(server.sent("tools/call")).toHaveLength(0);
    const patient = upstream.call(calling({ logLevel: "debug" }).call);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await patient).toMatchObject({ kind: "result" });
    await upstream.close();
  });
});

test("too many questions in one call are refused beyond a bound", async () => {
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
  await upstream.close();
});

test("a question whose frame is wrong is answered with that, under its own id, and nobody is asked", async () => {
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
  await upstream.close();
});
