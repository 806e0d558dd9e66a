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
