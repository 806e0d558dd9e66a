/** Who shares which connection, for how long, and what each is promised. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ANONYMOUS, type Client } from "../../src/core/client.js";
import type { GatewayError } from "../../src/core/errors.js";
import { objectAt } from "../../src/wire/json.js";
import { type FakeServer, HTTP, legacyServer, modernServer, SILENCE } from "../support/fake-channel.js";
import { calling, client, failure, meet, settled } from "../support/met-upstream.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const never = (): AbortSignal => new AbortController().signal;
const SAMPLING = { sampling: {} };
const session = (changes: Partial<Client> = {}): Client =>
  client({ session: true, capabilities: SAMPLING, ...changes });

/** The promises of each handshake, in order; the first is that of the shared connection. */
const promises = (server: FakeServer) =>
  server.sent("initialize").map(({ message }) => message.params?.capabilities);
const echoing = () =>
  legacyServer().on("tools/call", (_params, asked) => ({ channel: asked.channel.number }));
const channelOf = async (
  upstream: Awaited<ReturnType<typeof meet>>["upstream"],
  of: Client,
): Promise<unknown> => {
  const reply = await upstream.call(calling({ client: of }).call);
  return reply.kind === "result" ? reply.result.object.channel : reply;
};

describe("with a legacy server", () => {
  test("clients that cannot be asked share one connection, which promises nothing", async () => {
    const server = echoing();
    const { upstream } = await meet(server);
    const shy = client({ session: true, capabilities: { tasks: {} } });
    expect(await Promise.all([channelOf(upstream, client()), channelOf(upstream, shy)])).toEqual([0, 0]);
    expect(promises(server)).toEqual([{}]);
    expect(upstream.audience(shy)).toEqual({ key: "shared", class: "shared" });
  });

  test("of these, those with the same extensions share one that promises them, for the server may list by them", async () => {
    const server = echoing();
    const { upstream } = await meet(server);
    const ui = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };
    const withPages = (changes: Partial<Client> = {}): Client =>
      client({ session: true, capabilities: { extensions: ui }, ...changes });
    const callers = [client(), withPages(), withPages({ session: false })];
    expect(await Promise.all(callers.map((each) => channelOf(upstream, each)))).toEqual([0, 1, 1]);
    expect(promises(server)).toEqual([{}, { extensions: ui }]);
    expect(upstream.audience(withPages())).toEqual(upstream.audience(withPages()));
  });

  test("a client whose only extension is tasks, which this era has not, shares with everybody", async () => {
    const { upstream } = await meet(echoing());
    const extensions = { "io.modelcontextprotocol/tasks": {} };
    expect(upstream.audience(client({ capabilities: { extensions } })).key).toBe("shared");
  });

  test("a session that can be asked has one of its own, and promises what it declared itself", async () => {
    const server = echoing();
    const { upstream } = await meet(server);
    const [a, b] = [
      session(),
      session({ capabilities: { elicitation: { form: {} }, roots: { listChanged: true } } }),
    ];
    expect([
      await channelOf(upstream, a),
      await channelOf(upstream, b),
      await channelOf(upstream, a),
    ]).toEqual([1, 2, 1]);
    expect(promises(server)).toEqual([
      {},
      SAMPLING,
      { elicitation: { form: {} }, roots: { listChanged: true } },
    ]);
    expect(upstream.audience(a).class).not.toBe(upstream.audience(b).class);
  });

  test("clients without a session share by principal and promise", async () => {
    const server = echoing();
    const { upstream } = await meet(server);
    const host = (affinity: string) => client({ affinity, capabilities: SAMPLING });
    expect(await channelOf(upstream, host("alice+sampling"))).toBe(1);
    expect(await channelOf(upstream, host("alice+sampling"))).toBe(1);
    expect(await channelOf(upstream, host("bob+sampling"))).toBe(2);
  });

  test("calls of one principal about which it may be asked do not meet on a connection", async () => {
    const server = legacyServer().on("tools/call", (_params, asked) =>
      asked.channel.number === 3 ? { last: true } : SILENCE,
    );
    const { upstream } = await meet(server);
    const host = client({ capabilities: SAMPLING });
    const first = calling({ client: host });
    void upstream.call(first.call).catch(() => {});
    await settled();
    void upstream.call(calling({ client: host }).call).catch(() => {});
    await settled();
    expect(await upstream.call(calling({ client: host }).call)).toMatchObject({ kind: "result" });
    expect(server.channels).toHaveLength(4);
    // The first connection is used again as soon as it is free, so that a quiet client always has the same one.
    first.giveUp();
    await settled();
    server.on("tools/call", (_params, asked) => ({ channel: asked.channel.number }));
    expect(await channelOf(upstream, host)).toBe(1);
    await upstream.close();
  });

  test("when a principal has as many connections as it may, a call waits for one, and in the end shares", async () => {
    const server = legacyServer().on("tools/call", () => SILENCE);
    const { upstream } = await meet(server);
    const host = client({ capabilities: SAMPLING });
    const calls = Array.from({ length: 10 }, () => calling({ client: host }));
    const replies = calls.map(({ call }) => upstream.call(call).catch((error: unknown) => error));
    await vi.advanceTimersByTimeAsync(100);
    expect(server.sent("tools/call")).toHaveLength(8);
    calls[2]?.giveUp();
    await vi.advanceTimersByTimeAsync(300);
    expect(server.sent("tools/call").at(-1)?.channel).toBe(3);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(server.sent("tools/call")).toHaveLength(10);
    expect(server.channels).toHaveLength(9);
    for (const { giveUp } of calls) giveUp();
    await Promise.all(replies);
    await upstream.close();
  });

  test.each<["shared" | "principal" | "session", readonly unknown[]]>([
    ["shared", [0, 0, 0]],
    ["principal", [1, 1, 2]],
    ["session", [1, 2, 3]],
  ])("the config can say %s", async (lease, expected) => {
    const server = echoing();
    const { upstream } = await meet(server, { lease });
    const clients = [
      session({ capabilities: {} }),
      session({ capabilities: {} }),
      session({ principal: { id: "bob", groups: [], claims: {} } }),
    ];
    const channels: unknown[] = [];
    for (const each of clients) channels.push(await channelOf(upstream, each));
    expect(channels).toEqual(expected);
  });

  test("a session that is over takes its connection with it", async () => {
    const server = echoing();
    const { upstream } = await meet(server);
    const host = session();
    await channelOf(upstream, host);
    upstream.release(host.affinity);
    await settled();
    expect(server.channels.map(({ isClosed }) => isClosed)).toEqual([false, true]);
  });

  test("what clients follow is followed on when the server comes back in the other era", async () => {
    const server = echoing().on("resources/subscribe", {});
    const { upstream } = await meet(server, { transport: HTTP });
    const stops = [session(), client()].map((each, index) => upstream.follow(`x:${index}`, each));
    await settled();
    expect(server.sent("resources/subscribe").map(({ channel }) => channel)).toEqual([0, 1]);
    server.methods.clear();
    const newer = modernServer().on("subscriptions/listen", () => SILENCE);
    for (const [method, answer] of newer.methods) server.on(method, answer);
    for (const channel of [...server.channels]) channel.end();
    await vi.advanceTimersByTimeAsync(2_000);
    const followed = () => server.params("subscriptions/listen").notifications;
    expect(followed()).toMatchObject({ resourceSubscriptions: ["x:0", "x:1"] });
    stops[0]?.();
    await vi.advanceTimersByTimeAsync(100);
    expect(followed()).toMatchObject({ resourceSubscriptions: ["x:1"] });
    await upstream.close();
  });

  test("after the upstream was closed nothing is opened for a client that comes late", async () => {
    const server = echoing();
    const { upstream } = await meet(server);
    await upstream.close();
    const error = await failure(upstream.call(calling({ client: session() }).call));
    expect(error).toMatchObject({ code: "upstream_unavailable", retryable: false });
    expect(server.channels).toHaveLength(1);
  });

  test("a connection that nobody uses ends, but not one that is in use or followed over", async () => {
    const server = echoing().on("resources/subscribe", {});
    const { upstream } = await meet(server, {}, { leaseIdleMs: 60_000 });
    const [idle, follower] = [session(), session()];
    await channelOf(upstream, idle);
    upstream.follow("x:a", follower);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(server.channels.map(({ isClosed }) => isClosed)).toEqual([false, true, false]);
    await upstream.close();
  });

  test("the least recently used makes room when there are too many, unless all are in use", async () => {
    const server = legacyServer().on("tools/call", (params) => (params.name === "slow" ? SILENCE : {}));
    const { upstream } = await meet(server, {}, { maxLeases: 2 });
    const [a, b, c, d] = [session(), session(), session(), session()];
    for (const each of [a, b, a, c]) await channelOf(upstream, each);
    await settled();
    expect(server.channels.map(({ isClosed }) => isClosed)).toEqual([false, false, true, false]);
    const busy = [a, c].map((each) => calling({ client: each, params: { name: "slow" } }));
    const replies = busy.map(({ call }) => failure(upstream.call(call)));
    await settled();
    expect(await failure(upstream.call(calling({ client: d }).call))).toMatchObject({
      code: "overloaded",
      retryable: true,
    });
    for (const { giveUp } of busy) giveUp();
    await Promise.all(replies);
    await upstream.close();
  });

  test("a connection that is lost is opened again by the next who needs it, and its lists may be others", async () => {
    const server = echoing();
    const { upstream, heard } = await meet(server);
    const host = session({ affinity: "mine" });
    await channelOf(upstream, host);
    server.channel.end();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(server.channels).toHaveLength(2);
    expect(await channelOf(upstream, host)).toBe(2);
    expect(heard).toEqual(["ready @shared", "ready @mine", "ready @mine"]);
    expect(upstream.state).toBe("ready");
  });

  test("lists, changes and updates are those of the client's own connection", async () => {
    const server = legacyServer().on("tools/list", (_params, asked) => ({
      tools: [{ inputSchema: { type: "object" }, name: `t${asked.channel.number}` }],
    }));
    const { upstream, heard } = await meet(server);
    const host = session({ affinity: "mine" });
    expect((await upstream.list("tools", host, never())).items).toMatchObject([{ name: "t1" }]);
    expect((await upstream.list("tools", undefined, never())).items).toMatchObject([{ name: "t0" }]);
    server.channels[1]?.say("notifications/tools/list_changed");
    server.channels[1]?.say("notifications/resources/updated", { uri: "x:a" });
    expect(heard.slice(-2)).toEqual(["tools @mine", "updated x:a @mine"]);
  });

  test("older revisions are promised what they have words for", async () => {
    const declared = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
    const seen = async (protocol: string): Promise<unknown> => {
      const server = echoing();
      const { upstream } = await meet(server, { protocol });
      await channelOf(upstream, session({ capabilities: declared }));
      return promises(server)[1];
    };
    expect(await seen("2025-11-25")).toEqual(declared);
    expect(await seen("2025-06-18")).toEqual({ elicitation: {}, sampling: {}, roots: {} });
    expect(await seen("2024-11-05")).toEqual({ sampling: {}, roots: {} });
  });

  test("what the gateway cannot relay is not promised", async () => {
    const server = echoing();
    const { upstream } = await meet(server);
    const capabilities = {
      sampling: { context: {}, tools: {} },
      tasks: { list: {} },
      extensions: { "io.modelcontextprotocol/tasks": {}, "io.modelcontextprotocol/ui": { mimeTypes: [] } },
      somethingNew: {},
    };
    await channelOf(upstream, session({ capabilities }));
    expect(promises(server)[1]).toEqual({
      sampling: { tools: {} },
      extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [] } },
    });
  });

  test("a change of roots is told to the connection of the session that has them", async () => {
    const server = echoing();
    const { upstream } = await meet(server);
    const host = session({ capabilities: { roots: { listChanged: true } } });
    await channelOf(upstream, host);
    upstream.hear(host, { method: "notifications/roots/list_changed" });
    upstream.hear(session({ capabilities: { roots: { listChanged: true } } }), {
      method: "notifications/roots/list_changed",
    });
    upstream.hear(host, { method: "notifications/other" });
    await settled();
    expect(server.sent("notifications/roots/list_changed").map(({ channel }) => channel)).toEqual([1]);
    expect(server.sent("notifications/other")).toHaveLength(0);
  });

  test("over HTTP a session says good-bye", async () => {
    const server = echoing();
    server.responseHeaders = { "mcp-session-id": "s1" };
    const { upstream } = await meet(server, { transport: HTTP });
    const host = session();
    await channelOf(upstream, host);
    upstream.release(host.affinity);
    await settled();
    expect(server.channels[1]?.farewell).toMatchObject({ "mcp-session-id": "s1" });
  });
});

describe("connections to a legacy server are shared between principals", () => {
  const of = (id: string): Client => session({ principal: { id, groups: [], claims: {} } });
  const kind = (id: string, number: number): Client =>
    client({
      principal: { id, groups: [], claims: {} },
      affinity: `${id} ${number}`,
      capabilities: { sampling: {}, experimental: { [`kind${number}`]: {} } },
    });

  test("one principal that uses all it can get leaves room for others, who are not disturbed", async () => {
    const server = echoing().on("resources/subscribe", {});
    const { upstream } = await meet(server, {}, { maxLeases: 8 });
    const early = of("bob");
    upstream.follow("x:early", early);
    const greedy = Array.from({ length: 20 }, () => of("ann"));
    const refused = greedy.filter((each, index) => {
      try {
        upstream.follow(`x:${index}`, each);
        return false;
      } catch (error) {
        expect(error).toMatchObject({ code: "overloaded", retryable: true });
        return true;
      }
    });
    expect(refused).toHaveLength(15);
    await settled();
    expect(server.channels.filter(({ isClosed }) => isClosed)).toEqual([]);
    for (const id of ["cid", "dan"]) expect(await channelOf(upstream, of(id))).toEqual(expect.any(Number));
    await upstream.close();
  });

  test("what gives way to a principal's next one is its own oldest, however long others are idle", async () => {
    const server = echoing();
    const { upstream } = await meet(server, {}, { maxLeases: 8 });
    await channelOf(upstream, of("bob"));
    for (let at = 0; at < 20; at += 1) await channelOf(upstream, of("ann"));
    await settled();
    const open = server.channels.flatMap(({ number, isClosed }) => (isClosed ? [] : [number]));
    expect(open).toEqual([0, 1, 17, 18, 19, 20, 21]);
    await upstream.close();
  });

  test.each(["ann", ANONYMOUS.id])("thirty kinds of capabilities of %s start eight processes", async (id) => {
    const server = echoing();
    const { upstream } = await meet(server);
    const outcomes: unknown[] = [];
    for (let at = 0; at < 30; at += 1) {
      outcomes.push(await channelOf(upstream, kind(id, at)).catch((error: GatewayError) => error.code));
    }
    expect(outcomes).toEqual([1, 2, 3, 4, 5, 6, 7, 8, ...Array.from({ length: 22 }, () => "overloaded")]);
    expect(server.channels).toHaveLength(1 + 8);
    // One that was not used for a while gives way to another kind.
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await channelOf(upstream, kind(id, 30))).toBe(9);
    await settled();
    expect(server.channels.filter(({ isClosed }) => isClosed).map(({ number }) => number)).toEqual([1]);
    await upstream.close();
  });

  test("a kind for which no connection is left is refused, and another principal is served", async () => {
    const server = legacyServer().on("tools/call", (params, asked) =>
      params.name === "slow" ? SILENCE : { channel: asked.channel.number },
    );
    const { upstream } = await meet(server);
    const slow = Array.from({ length: 8 }, (_, at) =>
      calling({ client: kind("ann", at), params: { name: "slow" } }),
    );
    const replies = slow.map(({ call }) => failure(upstream.call(call)));
    await settled();
    expect(await failure(upstream.call(calling({ client: kind("ann", 9) }).call))).toMatchObject({
      code: "overloaded",
    });
    expect(await channelOf(upstream, kind("bob", 1))).toBe(9);
    for (const { giveUp } of slow) giveUp();
    await Promise.all(replies);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await channelOf(upstream, kind("ann", 9))).toBe(10);
    await upstream.close();
  });
});

describe("with a modern server", () => {
  test("all share one connection, and each request promises what its own client declared", async () => {
    const server = modernServer().on("tools/call", { resultType: "complete" });
    const { upstream } = await meet(server);
    const clients = [
      session({ capabilities: { roots: { listChanged: true } } }),
      client({ capabilities: SAMPLING }),
      client(),
    ];
    for (const each of clients) await upstream.call(calling({ client: each }).call);
    expect(server.channels).toHaveLength(1);
    expect(
      server
        .sent("tools/call")
        .map(
          ({ message }) => objectAt(message.params, "_meta")?.["io.modelcontextprotocol/clientCapabilities"],
        ),
    ).toEqual([{ roots: {} }, SAMPLING, {}]);
  });

  test("lists are kept by what clients declared, and a change is told for each such class", async () => {
    const server = modernServer().on("tools/list", { resultType: "complete", tools: [] });
    const { upstream, heard } = await meet(server);
    const [a, b] = [client({ capabilities: SAMPLING }), session({ capabilities: SAMPLING })];
    expect(upstream.audience(a)).toEqual(upstream.audience(b));
    expect(upstream.audience(a).key).toBe(upstream.audience(a).class);
    await upstream.list("tools", a, never());
    server.on("subscriptions/listen", (_params, asked) => {
      asked.say("notifications/tools/list_changed", {
        _meta: { "io.modelcontextprotocol/subscriptionId": asked.id },
      });
      return SILENCE;
    });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(heard).toContain("tools @shared");
    expect(heard).toContain(`tools @${upstream.audience(a).key}`);
  });
});
