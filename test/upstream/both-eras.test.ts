/** Servers of both eras: which hosts get a session, and which share the modern connection. */
import { describe, expect, test, vi } from "vitest";
import type { Client } from "../../src/core/client.js";
import { GatewayError } from "../../src/core/errors.js";
import { SILENT } from "../../src/core/logger.js";
import type { StartableUpstream } from "../../src/upstream/upstream.js";
import { type JsonObject, objectAt } from "../../src/wire/json.js";
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
import { advertised, channelOf, memberOf, SAMPLING, session } from "./lease-support.js";

fakeTime();

const never = (): AbortSignal => new AbortController().signal;

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
  const eraOf = (upstream: StartableUpstream, of: Client) => memberOf(upstream, of, "era");
  const namesFor = async (upstream: StartableUpstream, of: Client) =>
    (await upstream.list("tools", of, never())).items.map(({ name }) => name);

  test("a host that keeps a session is served in the legacy era, every other one in the modern era", async () => {
    const { server, upstream } = await meet(bothEras(), over);
    expect(upstream.revisions).toEqual(["2026-07-28"]);
    const [old, recent] = [session({ affinity: "mine" }), client({ capabilities: SAMPLING })];
    expect(await eraOf(upstream, old)).toBe("legacy");
    expect(await eraOf(upstream, recent)).toBe("modern");
    expect(await Promise.all([namesFor(upstream, old), namesFor(upstream, recent)])).toEqual([
      ["old"],
      ["new"],
    ]);
    expect(advertised(server)).toEqual([SAMPLING]);
    expect(upstream.revisions).toEqual(["2026-07-28", "2025-11-25"]);
    expect(upstream.listScope(old).capabilityClass).not.toBe(upstream.listScope(recent).capabilityClass);
  });

  test("hosts of the newer era open no session", async () => {
    const { server, upstream } = await meet(bothEras(), over);
    await Promise.all([eraOf(upstream, client({ capabilities: SAMPLING })), eraOf(upstream, client())]);
    expect(server.channels).toHaveLength(1);
  });

  test("a pinned protocol is used for all clients", async () => {
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

  test("if all hosts share one connection, all are served by that", async () => {
    const { server, upstream } = await meet(bothEras(), { ...over, lease: "shared" });
    expect(await eraOf(upstream, session())).toBe("modern");
    expect(server.channels).toHaveLength(1);
  });

  test("a session continues while the shared connection is lost", async () => {
    const { server, upstream } = await meet(bothEras(), over);
    const mine = session({ affinity: "mine" });
    await eraOf(upstream, mine);
    server.channels[0]?.end("it was killed");
    server.refusal = new GatewayError("upstream_unavailable", "upstream", "files cannot be reached");
    await settled();
    expect(await eraOf(upstream, mine)).toBe("legacy");
  });
});

test("sessions that cannot be asked share the process of a server of both eras", async () => {
  const { upstream } = await meet(bothEras());
  const shy = session({ capabilities: {} });
  expect(await channelOf(upstream, shy)).toBe(0);
  expect(upstream.listScope(shy)).toEqual({ key: "shared", capabilityClass: "shared" });
});

test("sessions that cannot be asked share one session over HTTP", async () => {
  const { upstream } = await meet(bothEras(), { transport: HTTP });
  const shy = [session({ capabilities: {} }), session({ capabilities: {} })];
  expect(await Promise.all(shy.map((each) => channelOf(upstream, each)))).toEqual([1, 1]);
  expect(upstream.factsFor?.(shy[0] as Client)?.serverInfo).toEqual({ name: "old", version: "1" });
});

describe.each([
  ["refuses it", { refuse: true }],
  ["keeps no session", { refuse: false }],
] as const)("a modern server that receives initialize and %s", (_name, { refuse }) => {
  const modernOnly = (): FakeServer => {
    if (!refuse) return Object.assign(bothEras(), { responseHeaders: {} });
    return modernServer().on("tools/call", { resultType: "complete", era: "modern" });
  };

  test("serves the host nevertheless, and receives no second initialize", async () => {
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
  });

  test("receives the subscriptions of its hosts over the one connection", async () => {
    const { server, upstream } = await meet(modernOnly(), { transport: HTTP });
    const stop = upstream.resources.subscribe("file:///a", session());
    await vi.advanceTimersByTimeAsync(1_000);
    const filters = server.sent("subscriptions/listen").map(({ message }) => JSON.stringify(message.params));
    expect(filters.at(-1)).toContain("file:///a");
    stop();
  });
});

test("a host beyond the session limit is served over the shared connection", async () => {
  const { upstream } = await meet(bothEras(), { transport: HTTP }, { maxLeases: 1 });
  const stop = upstream.resources.subscribe("file:///a", session({ affinity: "first" }));
  await settled();
  const reply = await upstream.call(calling({ client: session({ affinity: "second" }) }).call);
  expect(reply.kind === "result" && reply.result.object.era).toBe("modern");
  stop();
});

test("a server of both eras that is replaced by a modern one keeps serving its hosts", async () => {
  const { server, upstream } = await meet(bothEras(), { transport: HTTP });
  const mine = session({ affinity: "mine" });
  expect(await channelOf(upstream, mine)).toBe(1);
  server.on("initialize", () => {
    throw new RpcFailure(-32601, "no such method", undefined, 404);
  });
  server.channels[1]?.end("it was replaced");
  await settled();
  const replies = await Promise.all([1, 2].map(() => upstream.call(calling({ client: mine }).call)));
  for (const reply of replies) expect(reply.kind === "result" && reply.result.object.era).toBe("modern");
});

test("a server of both eras that refuses another session keeps the existing ones", async () => {
  const { server, upstream } = await meet(bothEras(), { transport: HTTP });
  const [mine, late] = [session({ affinity: "mine" }), session({ affinity: "late" })];
  expect(await channelOf(upstream, mine)).toBe(1);
  server.on("initialize", () => {
    throw new RpcFailure(-32000, "too many sessions", undefined, 400);
  });
  const { code, message } = await failure(upstream.call(calling({ client: late }).call));
  expect([code, message]).toEqual(["upstream_unavailable", expect.stringContaining("too many sessions")]);
  expect(await channelOf(upstream, mine)).toBe(1);
});

test("updates on the shared connection are not sent to hosts in sessions, which get their own", async () => {
  const { upstream } = await meet(bothEras(), { transport: HTTP });
  await channelOf(upstream, session());
  expect(upstream.listScope(session()).hasOwnUpdates).toBe(true);
  expect(upstream.listScope(session({ capabilities: {} })).hasOwnUpdates).toBe(true);
  expect(upstream.listScope(client({ capabilities: SAMPLING })).hasOwnUpdates).toBeUndefined();
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
});
