/** Who shares which connection, for how long, and what each is promised. */
import { describe, expect, test, vi } from "vitest";
import { ANONYMOUS, type Client } from "../../src/core/client.js";
import { GatewayError } from "../../src/core/errors.js";
import { SILENT } from "../../src/core/logger.js";
import type { JsonObject } from "../../src/wire/json.js";
import { objectAt } from "../../src/wire/json.js";
import {
  type FakeServer,
  HTTP,
  legacyServer,
  modernServer,
  RpcFailure,
  SILENCE,
} from "../support/fake-channel.js";
import { fakeTime } from "../support/fake-time.js";
import { calling, client, failure, meet, settled } from "../support/met-upstream.js";

fakeTime();

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
    expect(upstream.listScope(shy)).toEqual({ key: "shared", capabilityClass: "shared" });
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
    expect(upstream.listScope(withPages())).toEqual(upstream.listScope(withPages()));
  });

  test("a client whose only extension is tasks, which this era has not, shares with everybody", async () => {
    const { upstream } = await meet(echoing());
    const extensions = { "io.modelcontextprotocol/tasks": {} };
    expect(upstream.listScope(client({ capabilities: { extensions } })).key).toBe("shared");
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
    expect(upstream.listScope(a).capabilityClass).not.toBe(upstream.listScope(b).capabilityClass);
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
    upstream.releaseClient(host.affinity);
    await settled();
    expect(server.channels.map(({ isClosed }) => isClosed)).toEqual([false, true]);
  });

  test("what clients follow is followed on when the server comes back in the other era", async () => {
    const server = echoing().on("resources/subscribe", {});
    const { upstream } = await meet(server, { transport: HTTP });
    const stops = [session(), client()].map((each, index) => upstream.subscribe(`x:${index}`, each));
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
    upstream.subscribe("x:a", follower);
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
    upstream.forwardNotification(host, { method: "notifications/roots/list_changed" });
    upstream.forwardNotification(session({ capabilities: { roots: { listChanged: true } } }), {
      method: "notifications/roots/list_changed",
    });
    upstream.forwardNotification(host, { method: "notifications/other" });
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
    upstream.releaseClient(host.affinity);
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
    upstream.subscribe("x:early", early);
    const greedy = Array.from({ length: 20 }, () => of("ann"));
    const refused = greedy.filter((each, index) => {
      try {
        upstream.subscribe(`x:${index}`, each);
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
      client({ capabilities: { roots: { listChanged: true } } }),
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
    const [a, b] = [client({ capabilities: SAMPLING }), client({ capabilities: SAMPLING })];
    expect(upstream.listScope(a)).toEqual(upstream.listScope(b));
    expect(upstream.listScope(a).key).toBe(upstream.listScope(a).capabilityClass);
    await upstream.list("tools", a, never());
    server.on("subscriptions/listen", (_params, asked) => {
      asked.say("notifications/tools/list_changed", {
        _meta: { "io.modelcontextprotocol/subscriptionId": asked.id },
      });
      return SILENCE;
    });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(heard).toContain("tools @shared");
    expect(heard).toContain(`tools @${upstream.listScope(a).key}`);
  });
});

/** A server of both eras: a pipe, or a session, is of the one in which it was opened. */
function bothEras(): FakeServer {
  const server = modernServer();
  for (const [method, answer] of legacyServer().methods) server.on(method, answer);
  server.responseHeaders = { "mcp-session-id": "one" };
  const isModern = (params: JsonObject): boolean =>
    objectAt(params, "_meta")?.["io.modelcontextprotocol/protocolVersion"] !== undefined;
  return server
    .on("tools/call", (params, asked) => ({
      ...(isModern(params) && { resultType: "complete" }),
      era: isModern(params) ? "modern" : "legacy",
      channel: asked.channel.number,
    }))
    .on("tools/list", (params) => ({
      resultType: "complete",
      tools: [{ name: isModern(params) ? "new" : "old", inputSchema: { type: "object" } }],
    }));
}

describe.each([
  ["on a pipe", {}],
  ["over HTTP", { transport: HTTP }],
] as const)("with a server of both eras %s", (_name, over) => {
  const eraOf = async (
    upstream: Awaited<ReturnType<typeof meet>>["upstream"],
    of: Client,
  ): Promise<unknown> => {
    const reply = await upstream.call(calling({ client: of }).call);
    return reply.kind === "result" ? reply.result.object.era : reply;
  };
  const namesFor = async (upstream: Awaited<ReturnType<typeof meet>>["upstream"], of: Client) =>
    (await upstream.list("tools", of, never())).items.map(({ name }) => name);

  test("a host that keeps a session is served in one, and every other without", async () => {
    const server = bothEras();
    const { upstream } = await meet(server, over);
    expect(upstream.revisions).toEqual(["2026-07-28"]);
    const [old, recent] = [session({ affinity: "mine" }), client({ capabilities: SAMPLING })];
    expect(await eraOf(upstream, old)).toBe("legacy");
    expect(await eraOf(upstream, recent)).toBe("modern");
    expect(await Promise.all([namesFor(upstream, old), namesFor(upstream, recent)])).toEqual([
      ["old"],
      ["new"],
    ]);
    expect(promises(server)).toEqual([SAMPLING]);
    expect(upstream.revisions).toEqual(["2026-07-28", "2025-11-25"]);
    expect(upstream.listScope(old).capabilityClass).not.toBe(upstream.listScope(recent).capabilityClass);
    await upstream.close();
  });

  test("hosts of the newer era open no session", async () => {
    const server = bothEras();
    const { upstream } = await meet(server, over);
    await Promise.all([eraOf(upstream, client({ capabilities: SAMPLING })), eraOf(upstream, client())]);
    expect(server.channels).toHaveLength(1);
    await upstream.close();
  });

  test("what the config pins is spoken with everybody", async () => {
    for (const [protocol, era] of [
      ["legacy", "legacy"],
      ["modern", "modern"],
    ] as const) {
      const { upstream } = await meet(bothEras(), { ...over, protocol });
      expect(await eraOf(upstream, session())).toBe(era);
      expect(await eraOf(upstream, client())).toBe(era);
      await upstream.close();
    }
  });

  test("where all share one connection, all are served by that", async () => {
    const server = bothEras();
    const { upstream } = await meet(server, { ...over, lease: "shared" });
    expect(await eraOf(upstream, session())).toBe("modern");
    expect(server.channels).toHaveLength(1);
    await upstream.close();
  });

  test("a session goes on while the shared connection is away", async () => {
    const server = bothEras();
    const { upstream } = await meet(server, over);
    const mine = session({ affinity: "mine" });
    await eraOf(upstream, mine);
    server.channels[0]?.end("it was killed");
    server.refusal = new GatewayError("upstream_unavailable", "upstream", "files cannot be reached");
    await settled();
    expect(await eraOf(upstream, mine)).toBe("legacy");
    await upstream.close();
  });
});

test("those that cannot be asked share the process of a server of both eras", async () => {
  const server = bothEras();
  const { upstream } = await meet(server);
  const shy = session({ capabilities: {} });
  expect(await channelOf(upstream, shy)).toBe(0);
  expect(upstream.listScope(shy)).toEqual({ key: "shared", capabilityClass: "shared" });
  await upstream.close();
});

test("those that cannot be asked share one session over HTTP", async () => {
  const server = bothEras();
  const { upstream } = await meet(server, { transport: HTTP });
  const shy = [session({ capabilities: {} }), session({ capabilities: {} })];
  expect(await Promise.all(shy.map((each) => channelOf(upstream, each)))).toEqual([1, 1]);
  expect(upstream.factsFor?.(shy[0] as Client)?.serverInfo).toEqual({ name: "old", version: "1" });
  await upstream.close();
});

describe.each([
  ["refuses it", { refuse: true }],
  ["keeps no session", { refuse: false }],
] as const)("a modern server that is asked for a session and %s", (_name, { refuse }) => {
  const modernOnly = (): FakeServer => {
    if (!refuse) return Object.assign(bothEras(), { responseHeaders: {} });
    return modernServer().on("tools/call", { resultType: "complete", era: "modern" });
  };

  test("serves the host nevertheless, and is not asked again", async () => {
    const server = modernOnly();
    const warn = vi.fn();
    const { upstream } = await meet(server, { transport: HTTP }, { log: { ...SILENT, warn } });
    const hosts = [session(), session(), session({ capabilities: {} })];
    const replies = await Promise.all(hosts.map((of) => upstream.call(calling({ client: of }).call)));
    expect(replies.map((reply) => reply.kind === "result" && reply.result.object.era)).toEqual(
      hosts.map(() => "modern"),
    );
    const asked = server.sent("initialize").length;
    await vi.advanceTimersByTimeAsync(2 * 3_600_000);
    for (const of of hosts) await upstream.call(calling({ client: of }).call);
    expect(server.sent("initialize")).toHaveLength(asked);
    expect(upstream.listScope(hosts[0] as Client)).toEqual(
      upstream.listScope(client({ capabilities: SAMPLING })),
    );
    expect(warn).not.toHaveBeenCalled();
    expect(server.channels.filter(({ isClosed }) => !isClosed)).toHaveLength(1);
    await upstream.close();
  });

  test("hears what its hosts follow over the one connection", async () => {
    const server = modernOnly();
    const { upstream } = await meet(server, { transport: HTTP });
    const stop = upstream.subscribe("file:///a", session());
    await vi.advanceTimersByTimeAsync(1_000);
    const filters = server.sent("subscriptions/listen").map(({ message }) => JSON.stringify(message.params));
    expect(filters.at(-1)).toContain("file:///a");
    stop();
    await upstream.close();
  });
});

test("a host for whom a server of both eras has no room for a session is served over the shared connection", async () => {
  const server = bothEras();
  const { upstream } = await meet(server, { transport: HTTP }, { maxLeases: 1 });
  const stop = upstream.subscribe("file:///a", session({ affinity: "first" }));
  await settled();
  const reply = await upstream.call(calling({ client: session({ affinity: "second" }) }).call);
  expect(reply.kind === "result" && reply.result.object.era).toBe("modern");
  stop();
  await upstream.close();
});

test("a server of both eras that was replaced by one of the newer alone goes on serving its hosts", async () => {
  const server = bothEras();
  const { upstream } = await meet(server, { transport: HTTP });
  const mine = session({ affinity: "mine" });
  expect(await channelOf(upstream, mine)).toBe(1);
  server.on("initialize", () => {
    throw new RpcFailure(-32601, "no such method", undefined, 404);
  });
  server.channels[1]?.end("it was replaced");
  await settled();
  const replies = await Promise.all([1, 2].map(() => upstream.call(calling({ client: mine }).call)));
  for (const reply of replies) expect(reply.kind === "result" && reply.result.object.era).toBe("modern");
  await upstream.close();
});

test("a server of both eras that has no room for another session goes on with those it has", async () => {
  const server = bothEras();
  const { upstream } = await meet(server, { transport: HTTP });
  const [mine, late] = [session({ affinity: "mine" }), session({ affinity: "late" })];
  expect(await channelOf(upstream, mine)).toBe(1);
  server.on("initialize", () => {
    throw new RpcFailure(-32000, "too many sessions", undefined, 400);
  });
  const { code, message } = await failure(upstream.call(calling({ client: late }).call));
  expect([code, message]).toEqual(["upstream_unavailable", expect.stringContaining("too many sessions")]);
  expect(await channelOf(upstream, mine)).toBe(1);
  await upstream.close();
});

test("what the shared connection tells of a resource is not told to hosts in sessions, who hear it there", async () => {
  const server = bothEras();
  const { upstream } = await meet(server, { transport: HTTP });
  await channelOf(upstream, session());
  expect(upstream.listScope(session()).hasOwnUpdates).toBe(true);
  expect(upstream.listScope(session({ capabilities: {} })).hasOwnUpdates).toBe(true);
  expect(upstream.listScope(client({ capabilities: SAMPLING })).hasOwnUpdates).toBeUndefined();
  await upstream.close();
});

test("a modern server over HTTP that never answers initialize keeps its hosts waiting for ten seconds, once", async () => {
  const server = modernServer()
    .on("initialize", () => SILENCE)
    .on("tools/call", { resultType: "complete", era: "modern" });
  const { upstream } = await meet(server, { transport: HTTP });
  const first = upstream.call(calling({ client: session() }).call);
  await vi.advanceTimersByTimeAsync(10_000);
  expect((await first).kind).toBe("result");
  await upstream.call(calling({ client: session() }).call);
  expect(server.sent("initialize")).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(61_000);
  const second = upstream.call(calling({ client: session() }).call);
  await vi.advanceTimersByTimeAsync(10_000);
  await second;
  expect(server.sent("initialize")).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(61_000);
  await upstream.call(calling({ client: session() }).call);
  expect(server.sent("initialize")).toHaveLength(2);
  await upstream.close();
});
