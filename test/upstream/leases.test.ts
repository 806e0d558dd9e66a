/** Which clients share a connection to a server, for how long, and which capabilities it advertises. */
import { describe, expect, test, vi } from "vitest";
import type { Client } from "../../src/core/client.js";
import { objectAt } from "../../src/wire/json.js";
import { HTTP, legacyServer, modernServer, SILENCE } from "../support/fake-channel.js";
import { fakeTime } from "../support/fake-time.js";
import { calling, client, failure, meet, settled } from "../support/met-upstream.js";
import { advertised, channelOf, echoing, SAMPLING, session } from "./lease-support.js";
import { soon } from "./legacy/questions-support.js";

fakeTime();

const never = (): AbortSignal => new AbortController().signal;

describe("with a legacy server", () => {
  test("clients without capabilities share one connection, which advertises none", async () => {
    const { server, upstream } = await meet(echoing());
    const shy = client({ session: true, capabilities: { tasks: {} } });
    expect(await Promise.all([channelOf(upstream, client()), channelOf(upstream, shy)])).toEqual([0, 0]);
    expect(advertised(server)).toEqual([{}]);
    expect(upstream.listScope(shy)).toEqual({ key: "shared", capabilityClass: "shared" });
  });

  test("of these, clients with the same extensions share one that advertises them", async () => {
    const { server, upstream } = await meet(echoing());
    const ui = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };
    const withPages = (changes: Partial<Client> = {}): Client =>
      client({ session: true, capabilities: { extensions: ui }, ...changes });
    const callers = [client(), withPages(), withPages({ session: false })];
    expect(await Promise.all(callers.map((each) => channelOf(upstream, each)))).toEqual([0, 1, 1]);
    expect(advertised(server)).toEqual([{}, { extensions: ui }]);
    expect(upstream.listScope(withPages())).toEqual(upstream.listScope(withPages()));
  });

  test("a client whose only extension is tasks, which this era lacks, uses the shared connection", async () => {
    const { upstream } = await meet(echoing());
    const extensions = { "io.modelcontextprotocol/tasks": {} };
    expect(upstream.listScope(client({ capabilities: { extensions } })).key).toBe("shared");
  });

  test("a session that can be asked has its own connection, with the capabilities that it declared", async () => {
    const { server, upstream } = await meet(echoing());
    const [a, b] = [
      session(),
      session({ capabilities: { elicitation: { form: {} }, roots: { listChanged: true } } }),
    ];
    expect([
      await channelOf(upstream, a),
      await soon(channelOf(upstream, b)),
      await channelOf(upstream, a),
    ]).toEqual([1, 2, 1]);
    expect(advertised(server)).toEqual([
      {},
      SAMPLING,
      { elicitation: { form: {} }, roots: { listChanged: true } },
    ]);
    expect(upstream.listScope(a).capabilityClass).not.toBe(upstream.listScope(b).capabilityClass);
  });

  test("a resource that a session follows is followed again after a restart, with an update for what was missed", async () => {
    const server = echoing().on("resources/subscribe", {});
    const { upstream, heard } = await meet(server);
    upstream.resources.subscribe("x:a", session());
    await vi.advanceTimersByTimeAsync(100);
    expect(server.sent("resources/subscribe")).toHaveLength(1);
    const updates = () => heard.filter((line) => line.startsWith("updated x:a"));
    expect(updates()).toEqual([]);
    await upstream.restart?.();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(server.sent("resources/subscribe")).toHaveLength(2);
    expect(updates()).toHaveLength(1);
  });

  test("clients without a session share by principal and capabilities", async () => {
    const { upstream } = await meet(echoing());
    const host = (affinity: string) => client({ affinity, capabilities: SAMPLING });
    expect(await channelOf(upstream, host("alice+sampling"))).toBe(1);
    expect(await channelOf(upstream, host("alice+sampling"))).toBe(1);
    expect(await channelOf(upstream, host("bob+sampling"))).toBe(2);
  });

  test("concurrent calls of one principal that can be asked use exclusive connections", async () => {
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
  });

  test("at a principal's connection limit a call waits for a free connection, and finally shares one", async () => {
    const { server, upstream } = await meet(legacyServer().on("tools/call", () => SILENCE));
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
  });

  test.each<["shared" | "principal" | "session", readonly unknown[]]>([
    ["shared", [0, 0, 0]],
    ["principal", [1, 1, 2]],
    ["session", [1, 2, 3]],
  ])("the lease can be configured as %s", async (lease, expected) => {
    const { upstream } = await meet(echoing(), { lease });
    const clients = [
      session({ capabilities: {} }),
      session({ capabilities: {} }),
      session({ principal: { id: "bob", groups: [], claims: {} } }),
    ];
    const channels: unknown[] = [];
    for (const each of clients) channels.push(await channelOf(upstream, each));
    expect(channels).toEqual(expected);
  });

  test("the end of a session closes its connection", async () => {
    const { server, upstream } = await meet(echoing());
    const host = session();
    await channelOf(upstream, host);
    upstream.releaseClient(host.affinity);
    await settled();
    expect(server.channels.map(({ isClosed }) => isClosed)).toEqual([false, true]);
  });

  test("resource subscriptions continue when the server reconnects in the other era", async () => {
    const { server, upstream } = await meet(echoing().on("resources/subscribe", {}), { transport: HTTP });
    const stops = [session(), client()].map((each, index) =>
      upstream.resources.subscribe(`x:${index}`, each),
    );
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
  });

  test("a closed upstream opens no connection for a late client", async () => {
    const { server, upstream } = await meet(echoing());
    await upstream.close();
    const error = await failure(upstream.call(calling({ client: session() }).call));
    expect(error).toMatchObject({ code: "upstream_unavailable", retryable: false });
    expect(server.channels).toHaveLength(1);
  });

  test("an idle connection is closed, but not one with calls or subscriptions", async () => {
    const server = echoing().on("resources/subscribe", {});
    const { upstream } = await meet(server, { idleTimeoutMs: 60_000 });
    const [idle, follower] = [session(), session()];
    await channelOf(upstream, idle);
    upstream.resources.subscribe("x:a", follower);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(server.channels.map(({ isClosed }) => isClosed)).toEqual([false, true, false]);
  });

  test("the least recently used connection is closed above the limit, unless all are in use", async () => {
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
  });

  test("a lost connection is reopened by the next client that needs it, and its lists may differ", async () => {
    const { server, upstream, heard } = await meet(echoing());
    const host = session({ affinity: "mine" });
    await channelOf(upstream, host);
    server.channel.end();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(server.channels).toHaveLength(2);
    expect(await channelOf(upstream, host)).toBe(2);
    expect(heard).toEqual(["ready @shared", "ready @mine", "ready @mine"]);
    expect(upstream.state).toBe("ready");
  });

  test("lists, list_changed and updates are those of the client's own connection", async () => {
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

  test("older revisions get only the capabilities that they define", async () => {
    const declared = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
    const seen = async (protocol: string): Promise<unknown> => {
      const { server, upstream } = await meet(echoing(), { protocol });
      await soon(channelOf(upstream, session({ capabilities: declared })));
      return advertised(server)[1];
    };
    expect(await seen("2025-11-25")).toEqual(declared);
    expect(await seen("2025-06-18")).toEqual({ elicitation: {}, sampling: {}, roots: {} });
    expect(await seen("2024-11-05")).toEqual({ sampling: {}, roots: {} });
  });

  test("capabilities that the gateway cannot forward are not advertised", async () => {
    const { server, upstream } = await meet(echoing());
    const capabilities = {
      sampling: { context: {}, tools: {} },
      tasks: { list: {} },
      extensions: { "io.modelcontextprotocol/tasks": {}, "io.modelcontextprotocol/ui": { mimeTypes: [] } },
      somethingNew: {},
    };
    await channelOf(upstream, session({ capabilities }));
    expect(advertised(server)[1]).toEqual({
      sampling: { tools: {} },
      extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [] } },
    });
  });

  test("roots/list_changed is sent on the connection of the session that advertises it", async () => {
    const { server, upstream } = await meet(echoing());
    const host = session({ capabilities: { roots: { listChanged: true } } });
    await soon(channelOf(upstream, host));
    upstream.forwardNotification(host, { method: "notifications/roots/list_changed" });
    upstream.forwardNotification(session({ capabilities: { roots: { listChanged: true } } }), {
      method: "notifications/roots/list_changed",
    });
    upstream.forwardNotification(host, { method: "notifications/other" });
    await settled();
    expect(server.sent("notifications/roots/list_changed").map(({ channel }) => channel)).toEqual([1]);
    expect(server.sent("notifications/other")).toHaveLength(0);
  });

  test("over HTTP the end of a session sends DELETE", async () => {
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

describe("with a modern server", () => {
  test("all share one connection, and each request has the capabilities of its own client", async () => {
    const { server, upstream } = await meet(modernServer().on("tools/call", { resultType: "complete" }));
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

  test("lists are cached by capability class, and list_changed is sent for each class", async () => {
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
