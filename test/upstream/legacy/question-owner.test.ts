/** Whose call a question of a legacy server belongs to, where several calls are in flight. */

import { describe, expect, test, vi } from "vitest";
import type { Client, ClientChannel, ClientDirectory } from "../../../src/core/client.js";
import { GatewayError } from "../../../src/core/errors.js";
import type { RefusedQuestion } from "../../../src/upstream/legacy/server-questions.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { type FakeServer, legacyServer, SILENCE } from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import { type Calling, calling, meet, resultOf, settled } from "../../support/met-upstream.js";
import { forgetfulServer } from "./forgetful-server.js";
import { answering, asked, curious, host, over, session, soon, who } from "./questions-support.js";

fakeTime();

describe("the owner of a question", () => {
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

  test("the stream of its call decides, however many calls there are", async () => {
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

  test("on the event stream is the only call that may cause questions", async () => {
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
    // The connection of the first call, which a second one shares only when no further one is allowed.
    const { channel } = server;
    const others = Array.from({ length: 8 }, () => calling({ client: owner }));
    await start(world, ...others);
    await vi.advanceTimersByTimeAsync(11_000);
    const answer = await channel.ask("elicitation/create", who);
    expect(answer.error?.code).toBe(-32602);
    expect(world.refused).toEqual(["unattributable"]);
    await world.upstream.close();
  });

  test("of an unpolled task is not sent to another client that happens to be calling", async () => {
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

  test("outside all calls it is refused when the session has reached the limit of pending questions", async () => {
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

  test("outside all calls it is the session's, which gives the answer", async () => {
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

  test("right after the handshake is the session as well", async () => {
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

  test("for roots, over a pipe, is answered and read before the session's first call comes", async () => {
    let give = (_roots: JsonObject): void => {};
    let read = (): void => {};
    const events: string[] = [];
    const server = hanging()
      .on("notifications/initialized", (_params, { channel }) => {
        if (channel.number > 0)
          setTimeout(() => void channel.ask("roots/list").then(() => events.push("told")), 1);
        return {};
      })
      // Once it has the roots, the process does not run for a second.
      .on("ping", () => new Promise((resolve) => (read = () => resolve({}))))
      .on("tools/call", () => {
        events.push("called");
        return { content: [] };
      });
    const owner = session({ capabilities: { roots: {} } });
    const request = () => new Promise<JsonObject>((resolve) => (give = resolve));
    const world = await worldOf(server, {}, { port: { request }, owner });
    const reply = world.upstream.call(calling({ client: owner }).call);
    await vi.advanceTimersByTimeAsync(100);
    read();
    await vi.advanceTimersByTimeAsync(100);
    give({ roots: [] });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(events).toEqual(["told"]);
    read();
    await vi.advanceTimersByTimeAsync(50);
    expect(events).toEqual(["told", "called"]);
    await reply;
  });

  test("for roots, some time after the handshake, is answered before the first call too", async () => {
    const events: string[] = [];
    const server = hanging()
      .on("notifications/initialized", (_params, { channel }) => {
        if (channel.number > 0)
          setTimeout(() => void channel.ask("roots/list").then(() => events.push("told")), 40);
        return {};
      })
      .on("tools/call", () => {
        events.push("called");
        return { content: [] };
      });
    const owner = session({ capabilities: { roots: {} } });
    const request = async (): Promise<JsonObject> => ({ roots: [] });
    const world = await worldOf(server, {}, { port: { request }, owner });
    const reply = world.upstream.call(calling({ client: owner }).call);
    await vi.advanceTimersByTimeAsync(200);
    expect(events).toEqual(["told", "called"]);
    await reply;
  });

  test("that never comes delays the first call to its server, and no other", async () => {
    const server = hanging().on("tools/call", () => ({ content: [] }));
    const world = await worldOf(server, {}, {});
    const took: number[] = [];
    for (let hosts = 0; hosts < 3; hosts += 1) {
      const begun = performance.now();
      const host = session({ capabilities: { roots: {} } });
      const reply = world.upstream.call(calling({ client: host }).call).then(() => performance.now() - begun);
      await vi.advanceTimersByTimeAsync(200);
      took.push(await reply);
    }
    expect(took).toEqual([50, 0, 0]);
  });

  test("cancelled outside all calls it is cancelled at the session", async () => {
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

  test("of a session that the server has lost is taken back, and its answer is not sent to the next one", async () => {
    const { server, forget } = forgetfulServer();
    const owner = session();
    const waiting: { readonly signal: AbortSignal; readonly answer: (result: JsonObject) => void }[] = [];
    const request = (_question: JsonObject, signal: AbortSignal): Promise<JsonObject> =>
      new Promise((answer) => waiting.push({ signal, answer }));
    const world = await worldOf(server, over, { port: { request }, owner });
    await world.upstream.list("tools", owner, new AbortController().signal);
    const ask = (message: string): void => {
      for (const hear of [...server.channel.listeners])
        hear({ jsonrpc: "2.0", id: 0, method: "elicitation/create", params: { ...who, message } });
    };
    ask("delete the log?");
    await settled();
    forget();
    await world.upstream.call(calling({ client: owner }).call);
    expect(waiting.map(({ signal }) => signal.aborted)).toEqual([true]);
    ask("delete the database?");
    await settled();
    waiting[0]?.answer({ action: "accept" });
    await settled();
    const answers = () => server.received.filter(({ message }) => message.result !== undefined);
    expect(answers()).toEqual([]);
    waiting[1]?.answer({ action: "decline" });
    await settled();
    expect(answers().map(({ message }) => message.result)).toEqual([{ action: "decline" }]);
    await world.upstream.close();
  });

  test("of a call in a session that the server has lost is taken back, and gets no answer", async () => {
    const { server, forget } = forgetfulServer();
    server.on("tools/call", (_params, asked) => {
      void asked.ask("elicitation/create", who);
      return SILENCE;
    });
    const owner = session();
    const world = await worldOf(server, over, { owner });
    const reply = await soon(world.upstream.call(calling({ client: owner }).call));
    const gone: string[] = [];
    if (reply.kind === "input_required") reply.open?.watch((key) => gone.push(key));
    forget();
    await world.upstream.list("tools", owner, new AbortController().signal);
    await settled();
    expect(gone).toEqual(["elicitation_1"]);
    expect(server.received.filter(({ message }) => message.result !== undefined)).toEqual([]);
    await world.upstream.close();
  });

  test("may be a late one of another host's cancelled call, and is then refused; later it is asked", async () => {
    const server = hanging();
    const world = await worldOf(server, {});
    // Two programs of one principal, which share a connection as long as only one of them calls.
    const [one, other] = ["one", "other"].map((name) =>
      host({ affinity: "shared", info: { name, version: "1" } }),
    );
    const first = calling({ client: one as Client });
    await start(world, first);
    await vi.advanceTimersByTimeAsync(50);
    first.giveUp();
    await settled();
    const second = calling({ client: other as Client });
    const reply = world.upstream.call(second.call);
    await vi.advanceTimersByTimeAsync(50);
    expect((await server.channel.ask("elicitation/create", who)).error?.code).toBe(-32602);
    expect(world.refused).toEqual(["unattributable"]);
    await vi.advanceTimersByTimeAsync(10_000);
    void server.channel.ask("elicitation/create", who);
    expect(asked(await soon(reply)).keys).toHaveLength(1);
    await world.upstream.close();
  });

  test("after a cancelled call is asked in the next one of the same host", async () => {
    const server = hanging();
    const world = await worldOf(server, {});
    const one = host({ affinity: "shared", info: { name: "one", version: "1" } });
    const first = calling({ client: one });
    await start(world, first);
    await vi.advanceTimersByTimeAsync(50);
    first.giveUp();
    await settled();
    const reply = world.upstream.call(calling({ client: { ...one } }).call);
    await vi.advanceTimersByTimeAsync(50);
    void server.channel.ask("elicitation/create", who);
    expect(asked(await soon(reply)).keys).toHaveLength(1);
    await world.upstream.close();
  });

  test("outside all calls of clients without a session it belongs to none", async () => {
    const server = hanging();
    const world = await worldOf(server, {});
    await world.upstream.list("tools", host(), new AbortController().signal);
    expect((await server.channel.ask("elicitation/create", who)).error?.code).toBe(-32602);
    expect(world.refused).toEqual(["unattributable"]);
  });

  test("on the shared connection it belongs to none, whatever is running", async () => {
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

  test("roots can be configured for servers without a client", async () => {
    const { server } = await meet(hanging(), {}, { roots: [{ uri: "file:///srv" }] });
    expect(server.params("initialize").capabilities).toEqual({ roots: {} });
    expect((await server.channel.ask("roots/list")).result).toEqual({ roots: [{ uri: "file:///srv" }] });
  });
});
