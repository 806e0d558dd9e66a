/** What an upstream knows of its server before its first connection, from an earlier process. */
import { describe, expect, test, vi } from "vitest";
import type { ServerConfig } from "../../src/config/config.js";
import { EraCache } from "../../src/upstream/supervision/era-cache.js";
import { readMemory, writeMemory } from "../../src/upstream/supervision/upstream-memory.js";
import type { StartableUpstream } from "../../src/upstream/upstream.js";
import type { JsonObject } from "../../src/wire/json.js";
import { parseJson, writeJson } from "../../src/wire/json-text.js";
import { type FakeServer, HTTP, legacyServer, modernServer, serverConfig } from "../support/fake-channel.js";
import { fakeTime, pass } from "../support/fake-time.js";
import fc from "../support/fast-check.js";
import { calling, client, meet, settled, upstreamFor } from "../support/met-upstream.js";
import { advertised, SAMPLING, session } from "./lease-support.js";

fakeTime();

const HOUR_MS = 3_600_000;

/** As a file would carry it. */
function memoryOf(upstream: StartableUpstream): JsonObject | undefined {
  const memory = upstream.memory();
  return memory && (parseJson(writeJson(memory)) as JsonObject);
}

/** A server of both eras whose sessions introduce it under another name. */
function bothEras(): FakeServer {
  const server = modernServer();
  for (const [method, answer] of legacyServer().methods) server.on(method, answer);
  server.responseHeaders = { "mcp-session-id": "one" };
  return server.on("tools/call", (_, { channel }) => ({ resultType: "complete", channel: channel.number }));
}

describe("an upstream with the persisted state of an earlier one", () => {
  test.each([
    ["a legacy server", legacyServer, {}],
    ["a modern server", modernServer, {}],
    ["a legacy server over HTTP", legacyServer, { transport: HTTP }],
    ["a server of both eras", bothEras, { transport: HTTP }],
  ] as const)("answers for %s like the earlier one, without a connection", async (_, make, config) => {
    const { upstream: before } = await meet(make(), config);
    const clients = [
      client(),
      client({ capabilities: SAMPLING }),
      session({ capabilities: {} }),
      session({ affinity: "mine" }),
    ];
    for (const each of clients) await before.call(calling({ client: each }).call);
    const { server, upstream } = upstreamFor(make(), config, { memory: memoryOf(before) });
    expect(upstream.facts).toEqual(before.facts);
    for (const each of clients) {
      expect(upstream.listScope(each)).toEqual(before.listScope(each));
      expect(upstream.factsFor?.(each)).toEqual(before.factsFor?.(each));
    }
    expect(memoryOf(upstream)).toEqual(memoryOf(before));
    expect(server.channels).toEqual([]);
  });

  test("knows nothing before the first connection without persisted state", () => {
    const { upstream } = upstreamFor(legacyServer());
    expect([upstream.memory(), upstream.facts]).toEqual([undefined, undefined]);
  });

  test("opens a session at a server of both eras without its shared connection", async () => {
    const { upstream: before } = await meet(bothEras(), { transport: HTTP });
    await before.call(calling({ client: session() }).call);
    const { server, upstream } = upstreamFor(bothEras(), { transport: HTTP }, { memory: memoryOf(before) });
    const reply = await upstream.call(calling({ client: session() }).call);
    expect(reply.kind).toBe("result");
    expect(advertised(server)).toEqual([SAMPLING]);
    await upstream.close();
  });

  test("sends a legacy server no probe within an hour, and one after it, even after restarts", async () => {
    const { upstream: before } = await meet(legacyServer());
    let memory = memoryOf(before);
    const probes: number[] = [];
    for (const waitMs of [HOUR_MS / 2, HOUR_MS / 3, HOUR_MS / 3]) {
      await pass(waitMs);
      const { server, upstream } = await meet(legacyServer(), {}, { memory });
      memory = memoryOf(upstream);
      probes.push(server.sent("server/discover").length);
    }
    expect(probes).toEqual([0, 0, 1]);
  });

  test("detects a server that has changed its era", async () => {
    const { upstream: before } = await meet(legacyServer());
    const { upstream } = await meet(modernServer(), {}, { memory: memoryOf(before) });
    expect(upstream.revisions).toEqual(["2026-07-28"]);
    expect(memoryOf(upstream)).toMatchObject({ era: "modern" });
  });

  test("ignores persisted state of another era than the pinned one", async () => {
    const { upstream: before } = await meet(legacyServer());
    const { upstream } = upstreamFor(modernServer(), { protocol: "modern" }, { memory: memoryOf(before) });
    expect([upstream.facts, upstream.memory()]).toEqual([undefined, undefined]);
  });

  test("persists what the server confirmed, not what was assumed after a failure", async () => {
    const server = bothEras().on("initialize", () => {
      throw new Error("it broke");
    });
    const { upstream } = await meet(server, { transport: HTTP });
    await upstream.call(calling({ client: session() }).call);
    await settled();
    expect(memoryOf(upstream)).not.toHaveProperty("sessions");
  });

  test("has the current facts of the connection", async () => {
    const { server, upstream } = await meet(modernServer());
    server.on("server/discover", {
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities: { prompts: {} },
      serverInfo: { name: "next", version: "2" },
      ttlMs: 0,
      cacheScope: "private",
    });
    server.channel.end("it was replaced");
    await pass(5_000);
    expect(memoryOf(upstream)).toMatchObject({ facts: { capabilities: { prompts: {} } } });
  });
});

test("the era cache of the next process has the confirmed era, for the rest of its lifetime", async () => {
  const first = new EraCache();
  first.learn("sse");
  first.learnSessions(false);
  const second = new EraCache(first.memory);
  expect([second.legacy?.transport, second.supportsSessions]).toEqual(["sse", false]);
  await pass(HOUR_MS + 1);
  const third = new EraCache(second.memory);
  expect([third.legacy, third.supportsSessions]).toEqual([undefined, undefined]);
});

test("a clock that is set back does not extend the cache lifetime beyond an hour", async () => {
  const first = new EraCache();
  first.learn("http");
  const { memory } = first;
  vi.setSystemTime(Date.now() - 30 * 24 * HOUR_MS);
  const second = new EraCache(memory);
  await pass(HOUR_MS + 1);
  expect(second.legacy).toBeUndefined();
});

describe("memory as JSON", () => {
  const object = () =>
    fc.dictionary(fc.string(), fc.jsonValue()).map((value) => parseJson(writeJson(value)) as JsonObject);
  const facts = () =>
    fc.record(
      { capabilities: object(), serverInfo: object(), instructions: fc.string(), instance: fc.string() },
      { requiredKeys: ["capabilities", "serverInfo"] },
    );
  const since = () => fc.integer({ min: 0, max: 4_000_000_000_000 });
  const config = (transport: ServerConfig["transport"]) => serverConfig({ transport });

  test("round-trips", () => {
    const legacy = fc.record({
      transport: fc.constantFrom("http" as const, "sse" as const),
      learnedAt: since(),
    });
    const sessions = fc.record({ supported: fc.boolean(), learnedAt: since() });
    const eraCache = fc.record({ legacy, sessions }, { requiredKeys: [] });
    fc.assert(
      fc.property(facts(), eraCache, fc.option(facts(), { nil: undefined }), (known, cache, inSession) => {
        const written = writeMemory("legacy", known, cache, inSession, false);
        const read = readMemory(config(HTTP), parseJson(writeJson(written)));
        expect(read).toEqual({
          era: "legacy",
          facts: known,
          eraCache: cache,
          ...(inSession !== undefined && { sessionFacts: inSession }),
        });
      }),
    );
  });

  test("with any other content is ignored, and never throws", () => {
    const shape = fc.record(
      {
        era: fc.oneof(fc.constantFrom("legacy", "modern"), fc.jsonValue()),
        facts: fc.oneof(facts(), fc.jsonValue()),
        legacy: fc.jsonValue(),
        sessions: fc.jsonValue(),
        sessionFacts: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const { transport } = serverConfig({});
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.jsonValue(), shape), (given) => {
        const read = readMemory(config(transport), given);
        if (read === undefined) return;
        expect(["legacy", "modern"]).toContain(read.era);
        const { upstream } = upstreamFor(legacyServer(), {}, { memory: given as JsonObject });
        expect(upstream.facts).toEqual(read.facts);
        expect(upstream.listScope(session()).key).toEqual(expect.any(String));
      }),
    );
  });

  test("has no transport that is impossible for the server", () => {
    const memory = {
      era: "legacy",
      facts: { capabilities: {}, serverInfo: {} },
      legacy: { transport: "sse", learnedAt: 0 },
    };
    expect(readMemory(serverConfig({}), memory)?.eraCache).toEqual({});
    expect(readMemory(config(HTTP), memory)?.eraCache.legacy?.transport).toBe("sse");
  });
});
