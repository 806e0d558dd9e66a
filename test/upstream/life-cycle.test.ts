/** The life of one upstream under whatever happens to it: every call is answered once, and nothing is left over. */

import { expect, test, vi } from "vitest";
import { GatewayError } from "../../src/core/errors.js";
import { type FakeServer, HTTP, legacyServer, modernServer } from "../support/fake-channel.js";
import { fakeTime } from "../support/fake-time.js";
import fc from "../support/fast-check.js";
import { type Calling, calling, client, settled, upstreamFor } from "../support/met-upstream.js";
import { sample } from "../support/sample.js";

fakeTime();

type Command =
  | { readonly do: "call"; readonly by: number; readonly takesMs: number }
  | { readonly do: "give up"; readonly which: number }
  | { readonly do: "list"; readonly by: number }
  | { readonly do: "follow"; readonly by: number }
  | { readonly do: "crash"; readonly which: number }
  | { readonly do: "refuse"; readonly on: boolean }
  | { readonly do: "hang"; readonly on: boolean }
  | { readonly do: "release"; readonly by: number }
  | { readonly do: "wait"; readonly ms: number };

const HOSTS = 4;
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("call" as const), by: fc.nat(HOSTS - 1), takesMs: fc.nat(3_000) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("give up" as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("list" as const), by: fc.nat(HOSTS - 1) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("follow" as const), by: fc.nat(HOSTS - 1) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("crash" as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("refuse" as const), on: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("hang" as const), on: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("release" as const), by: fc.nat(HOSTS - 1) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(5_000) }) },
);

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const REFUSAL = new GatewayError("upstream_unavailable", "upstream", "no such command", { retryable: true });

/** A server that greets, or hangs when it is greeted, and takes as long over a call as the call says. */
function server(era: "legacy" | "modern"): { readonly server: FakeServer; hangs: boolean } {
  const self = { server: era === "legacy" ? legacyServer() : modernServer(), hangs: false };
  for (const method of ["initialize", "server/discover"]) {
    const greet = self.server.methods.get(method);
    if (greet === undefined) continue;
    self.server.on(method, async (params, asked) => {
      if (self.hangs) await pause(40_000);
      return greet(params, asked);
    });
  }
  self.server.on("tools/call", async (params) => {
    await pause(Number((params.arguments as { readonly takesMs: number }).takesMs));
    return { content: [] };
  });
  self.server.on("tools/list", { tools: [] }).on("resources/subscribe", {}).on("resources/unsubscribe", {});
  return self;
}

const SERVERS = [
  ["legacy", "stdio"],
  ["legacy", "http"],
  ["modern", "stdio"],
  ["modern", "http"],
] as const;

test.each(sample("servers", SERVERS, 2))("of a %s server over %s", async (era, way) => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), fc.boolean(), async (commands, recovers) => {
      vi.clearAllTimers();
      const world = server(era);
      world.server.endsAfterMs = 700;
      const config = { idleTimeoutMs: 10_000, ...(way === "http" && { transport: HTTP }) };
      const { upstream } = upstreamFor(world.server, config, { maxLeases: 3 });
      const hosts = Array.from({ length: HOSTS }, (_, index) =>
        client({
          affinity: `host-${index}`,
          session: index % 2 === 0,
          // The first cannot be asked and shares; the others have connections of their own.
          capabilities: index === 0 ? {} : { elicitation: {} },
        }),
      );
      const calls: Calling[] = [];
      const answers: Promise<string>[] = [];
      const stops: (() => void)[] = [];
      const expected = (error: unknown): string => {
        if (error instanceof GatewayError) return error.code;
        throw error;
      };
      upstream.start();
      for (const each of commands) {
        const open = world.server.channels.filter(({ isGone, isClosed }) => !isGone && !isClosed);
        // The shared connection, one for each of three leases, and those that keep the calls of one principal apart.
        if (way === "stdio") expect(open.length).toBeLessThanOrEqual(4);
        switch (each.do) {
          case "call": {
            const made = calling({
              client: hosts[each.by] ?? client(),
              params: { name: "work", arguments: { takesMs: each.takesMs } },
            });
            calls.push(made);
            answers.push(upstream.call(made.call).then(({ kind }) => kind, expected));
            break;
          }
          case "give up":
            calls[each.which]?.giveUp();
            break;
          case "list":
            answers.push(
              upstream
                .list("tools", hosts[each.by], new AbortController().signal)
                .then(() => "list", expected),
            );
            break;
          case "follow":
            try {
              stops.push(upstream.resources.subscribe("x:a", hosts[each.by]));
            } catch (error) {
              expect(expected(error)).toBe("overloaded");
            }
            break;
          case "crash":
            open[each.which % Math.max(open.length, 1)]?.end();
            break;
          case "refuse":
            world.server.refusal = each.on ? REFUSAL : undefined;
            break;
          case "hang":
            world.hangs = each.on;
            break;
          case "release":
            upstream.releaseClient(`host-${each.by}`);
            break;
          case "wait":
            await vi.advanceTimersByTimeAsync(each.ms);
        }
        await settled();
      }
      if (recovers) {
        // However bad it was, a server that is well again is met again, and then serves.
        world.server.refusal = undefined;
        world.hangs = false;
        await vi.advanceTimersByTimeAsync(240_000);
        expect(upstream.state).toBe("ready");
        const last = calling({ params: { name: "work", arguments: { takesMs: 0 } } });
        const reply = upstream.call(last.call);
        await vi.advanceTimersByTimeAsync(100);
        expect((await reply).kind).toBe("result");
        for (const stop of stops) stop();
      }
      const closing = upstream.close();
      await vi.advanceTimersByTimeAsync(2_000);
      await closing;
      const processes = world.server.channels.length;
      expect(world.server.channels.filter(({ isGone }) => !isGone)).toEqual([]);

      // Every call has come to an end, and only those ends there are.
      const outcomes = await Promise.all(answers);
      const honest = ["result", "list", "cancelled", "upstream_unavailable", "upstream_closed", "overloaded"];
      expect(outcomes.filter((outcome) => !honest.includes(outcome))).toEqual([]);
      // The server may still work on cancelled calls; the gateway does not.
      await vi.advanceTimersByTimeAsync(120_000);
      expect(world.server.channels).toHaveLength(processes);
      expect(vi.getTimerCount()).toBe(0);
    }),
    { numRuns: 90 },
  );
});
