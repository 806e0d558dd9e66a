/** Connections of one principal leave room for those of others. */
import { describe, expect, test, vi } from "vitest";
import { ANONYMOUS, type Client } from "../../src/core/client.js";
import type { GatewayError } from "../../src/core/errors.js";
import { HTTP, legacyServer, SILENCE } from "../support/fake-channel.js";
import { fakeTime } from "../support/fake-time.js";
import { calling, client, failure, meet, settled } from "../support/met-upstream.js";
import { channelOf, echoing, session } from "./lease-support.js";

fakeTime();

describe("connections to a legacy server are shared between principals", () => {
  const of = (id: string): Client => session({ principal: { id, groups: [], claims: {} } });
  const kind = (id: string, number: number): Client =>
    client({
      principal: { id, groups: [], claims: {} },
      affinity: `${id} ${number}`,
      capabilities: { sampling: {}, experimental: { [`kind${number}`]: {} } },
    });

  test("one principal at its limit leaves connections for others", async () => {
    const { server, upstream } = await meet(echoing().on("resources/subscribe", {}), {}, { maxLeases: 8 });
    const early = of("bob");
    upstream.resources.subscribe("x:early", early);
    const greedy = Array.from({ length: 20 }, () => of("ann"));
    const refused = greedy.filter((each, index) => {
      try {
        upstream.resources.subscribe(`x:${index}`, each);
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
  });

  test.each([
    ["an HTTP server", { transport: HTTP }, 300],
    ["a stdio server", {}, 100],
  ])("%s has one connection for each of many principals", async (_what, config, count) => {
    const { upstream } = await meet(echoing(), config);
    const served = Array.from({ length: 300 }, (_, at) =>
      channelOf(upstream, of(`person-${at}`)).then(
        () => 1,
        () => 0,
      ),
    );
    expect((await Promise.all(served)).reduce((sum: number, one) => sum + one, 0)).toBe(count);
  });

  test("a principal at its limit evicts its own oldest connection, however long others are idle", async () => {
    const { server, upstream } = await meet(echoing(), {}, { maxLeases: 8 });
    await channelOf(upstream, of("bob"));
    for (let at = 0; at < 20; at += 1) await channelOf(upstream, of("ann"));
    await settled();
    const open = server.channels.flatMap(({ number, isClosed }) => (isClosed ? [] : [number]));
    expect(open).toEqual([0, 1, 17, 18, 19, 20, 21]);
  });

  test.each([
    ["a stdio server", {}, 100, 25],
    ["an HTTP server", { transport: HTTP }, 1_000, 250],
  ])(
    "one principal with many sessions has a quarter of the connections to %s, its newest",
    async (_, config, max, share) => {
      const { server, upstream } = await meet(echoing(), config, { maxLeases: max });
      await channelOf(upstream, of("bob"));
      for (let at = 0; at < share + 15; at += 1) await channelOf(upstream, of("ann"));
      await settled();
      const open = server.channels.flatMap(({ number, isClosed }) => (isClosed ? [] : [number]));
      // That of all, that of bob, and those of ann without her first 15.
      expect(open).toEqual([0, 1, ...Array.from({ length: share }, (_one, at) => 17 + at)]);
    },
  );

  test("a principal whose sessions all call is refused one more, and others are served", async () => {
    const server = legacyServer().on("tools/call", (params, asked) =>
      params.name === "slow" ? SILENCE : { channel: asked.channel.number },
    );
    const { upstream } = await meet(server);
    const slow = Array.from({ length: 25 }, () => calling({ client: of("ann"), params: { name: "slow" } }));
    const replies = slow.map(({ call }) => failure(upstream.call(call)));
    await settled();
    expect(await failure(upstream.call(calling({ client: of("ann") }).call))).toMatchObject({
      code: "overloaded",
      retryable: true,
    });
    expect(server.channels.filter(({ isClosed }) => isClosed)).toEqual([]);
    for (let at = 0; at < 40; at += 1) expect(await channelOf(upstream, of(`p${at}`))).toBe(26 + at);
    for (const { giveUp } of slow) giveUp();
    await Promise.all(replies);
    expect(await channelOf(upstream, of("ann"))).toBe(66);
  });

  test("a connection with an open task of its session is not evicted, nor one over which a resource is followed", async () => {
    const first = of("ann");
    const { server, upstream } = await meet(
      echoing().on("resources/subscribe", {}),
      {},
      { hasOpenTask: (affinity) => affinity === first.affinity },
    );
    await channelOf(upstream, first);
    const second = of("ann");
    upstream.resources.subscribe("x:a", second);
    await settled();
    for (let at = 0; at < 30; at += 1) await channelOf(upstream, of("ann"));
    await settled();
    const ended = server.channels.filter(({ isClosed }) => isClosed).map(({ number }) => number);
    expect(ended).toEqual([3, 4, 5, 6, 7, 8, 9]);
  });

  test("four principals with many sessions leave connections for others", async () => {
    const { upstream } = await meet(echoing());
    for (const id of ["ann", "bob", "cid", "dan"])
      for (let at = 0; at < 30; at += 1) await channelOf(upstream, of(id)).catch(() => {});
    for (let at = 0; at < 15; at += 1)
      expect(await channelOf(upstream, of(`other-${at}`))).toEqual(expect.any(Number));
  });

  test("without authentication, where all hosts are one principal, sessions have no share", async () => {
    const { server, upstream } = await meet(echoing());
    for (let at = 0; at < 60; at += 1) await channelOf(upstream, of(ANONYMOUS.id));
    await settled();
    expect(server.channels.filter(({ isClosed }) => isClosed)).toEqual([]);
  });

  test.each(["ann", ANONYMOUS.id])("thirty kinds of capabilities of %s start eight processes", async (id) => {
    const { server, upstream } = await meet(echoing());
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
  });

  test("a kind without a free connection is refused, and another principal is served", async () => {
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
  });
});
