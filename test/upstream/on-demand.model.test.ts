/** The life of a shared connection on demand, whatever hosts and its process do: one process, never ended in use, ended when unused. */
import { expect, test, vi } from "vitest";
import type { Client } from "../../src/core/client.js";
import { GatewayError } from "../../src/core/errors.js";
import { legacyServer, modernServer } from "../support/fake-channel.js";
import { fakeTime, pass } from "../support/fake-time.js";
import fc from "../support/fast-check.js";
import { calling, client, upstreamFor } from "../support/met-upstream.js";

fakeTime();

const IDLE_MS = 60_000;
const HOSTS = 4;
/** Longer than the backoff after as many crashes as a sequence has. */
const RECOVERY_MS = 120_000;

type Command =
  | { readonly do: "call"; readonly by: number; readonly takesMs: number }
  | { readonly do: "list" | "follow" | "end session" | "leave" | "come back"; readonly by: number }
  | { readonly do: "crash" | "unfollow" }
  | { readonly do: "wait"; readonly ms: number };

const by = fc.nat(HOSTS - 1);
const ofHost = (what: "list" | "follow" | "end session" | "leave" | "come back") =>
  fc.record({ do: fc.constant(what), by });
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("call" as const), by, takesMs: fc.nat(90_000) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      ms: fc.oneof(fc.nat(10_000), fc.nat(2 * IDLE_MS), fc.constantFrom(2_000, 5_000, IDLE_MS)),
    }),
  },
  ...(["list", "follow", "end session", "leave", "come back"] as const).map((what) => ({
    weight: 1,
    arbitrary: ofHost(what),
  })),
  { weight: 1, arbitrary: fc.constantFrom({ do: "crash" as const }, { do: "unfollow" as const }) },
);

/** A call that was made, and what became of it. */
interface Made {
  outcome: string | undefined;
  answers: number;
}

class World {
  readonly server;
  readonly upstream;
  readonly made: Made[] = [];
  readonly follows: (() => void)[] = [];
  readonly present = new Set<string>();
  readonly leftAt = new Map<string, number>();
  readonly sessions: Client[];
  crashes = 0;

  constructor(era: "legacy" | "modern") {
    this.server = (era === "legacy" ? legacyServer() : modernServer())
      .on("tools/list", { resultType: "complete", tools: [], ttlMs: 0, cacheScope: "public" })
      .on("tools/call", async (params) => {
        const { takesMs } = params.arguments as { readonly takesMs: number };
        await new Promise((resolve) => setTimeout(resolve, takesMs));
        return { resultType: "complete", content: [] };
      })
      .on("resources/subscribe", {})
      .on("resources/unsubscribe", {});
    // A process exits slowly enough that other calls come before its end.
    this.server.endsAfterMs = 20_000;
    // The even ones have a session.
    this.sessions = Array.from({ length: HOSTS }, (_, index) => client({ session: index % 2 === 0 }));
    const directory = {
      find: (affinity: string) => ({
        client: client({ affinity }),
        idleSince: this.present.has(affinity) ? undefined : (this.leftAt.get(affinity) ?? 0),
        request: async () => ({}),
      }),
    };
    const config = { start: "demand", idleTimeoutMs: IDLE_MS, lease: "shared" } as const;
    this.upstream = upstreamFor(this.server, config, { directory }).upstream;
    this.upstream.start();
  }

  host(index: number): Client {
    const one = this.sessions[index];
    if (one === undefined) throw new RangeError(`no host ${index}`);
    return one;
  }

  call(index: number, takesMs: number): Made {
    const one = this.host(index);
    if (one.session) this.present.add(one.affinity);
    const made: Made = { outcome: undefined, answers: 0 };
    this.made.push(made);
    const { call } = calling({ client: one, params: { name: "work", arguments: { takesMs } } });
    const end = (outcome: string): void => {
      made.outcome = outcome;
      made.answers += 1;
    };
    this.upstream.call(call).then(
      ({ kind }) => end(kind),
      (error: unknown) =>
        end(error instanceof GatewayError ? `${error.code}: ${error.message}` : String(error)),
    );
    return made;
  }

  get processes(): number {
    return this.server.channels.filter(({ isGone }) => !isGone).length;
  }

  /** The process that calls go to, if there is one; one that is closing takes none. */
  get open() {
    return this.server.channels.find(({ isGone, isClosed }) => !isGone && !isClosed);
  }

  leave(index: number): void {
    const { affinity } = this.host(index);
    if (this.present.delete(affinity)) this.leftAt.set(affinity, performance.now());
  }

  check(): void {
    expect(this.processes, "processes").toBeLessThanOrEqual(1);
    for (const { answers, outcome } of this.made) {
      expect(answers, "answers to a call").toBeLessThanOrEqual(1);
      expect(outcome ?? "", "a call that the gateway cut off").not.toContain("closed by the gateway");
      if (this.crashes === 0) expect(["result", undefined], "without a crash").toContain(outcome);
    }
    const runs = this.made.length - this.made.filter(({ answers }) => answers > 0).length;
    if (runs > 0 && this.crashes === 0) expect(this.processes, "processes during a call").toBe(1);
  }
}

async function run(world: World, each: Command): Promise<void> {
  switch (each.do) {
    case "call":
      world.call(each.by, each.takesMs);
      break;
    case "list":
      world.upstream.list("tools", undefined, new AbortController().signal).catch((error: unknown) => {
        if (!(error instanceof GatewayError)) throw error;
      });
      break;
    case "follow":
      world.follows.push(world.upstream.resources.subscribe("x:a", world.host(each.by)));
      break;
    case "unfollow":
      world.follows.pop()?.();
      break;
    case "end session": {
      world.leave(each.by);
      world.upstream.releaseClient(world.host(each.by).affinity);
      break;
    }
    case "leave":
      world.leave(each.by);
      break;
    case "come back":
      if (world.host(each.by).session) world.present.add(world.host(each.by).affinity);
      break;
    case "crash":
      if (world.open !== undefined) world.crashes += 1;
      world.open?.end();
      break;
    case "wait":
      await pass(each.ms);
  }
  await pass(0);
  world.check();
}

test.each(["legacy", "modern"] as const)("of a %s server", async (era) => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
      vi.clearAllTimers();
      const world = new World(era);
      await pass(0);
      for (const each of commands) await run(world, each);
      // Something that needs the process keeps it: calls that run, then subscriptions.
      await pass(RECOVERY_MS);
      expect(
        world.made.filter(({ answers }) => answers !== 1),
        "calls without one answer",
      ).toEqual([]);
      if (world.follows.length > 0) expect(world.processes, "processes with a subscription").toBe(1);
      for (const unfollow of world.follows) unfollow();
      for (let index = 0; index < HOSTS; index += 1) world.leave(index);
      // Hosts that left are noticed a tenth of the idle timeout later at most.
      await pass(IDLE_MS * 1.1 + world.server.endsAfterMs + 1);
      expect(world.processes, "processes that nothing uses").toBe(0);
      expect(world.upstream.state).toBe("idle");
      const opened = world.server.channels.length;
      const last = world.call(1, 0);
      await pass(0);
      expect(last.outcome, "a call after the end").toBe("result");
      expect(world.server.channels.length, "a process of its own").toBe(opened + 1);
      const closed = world.upstream.close();
      await pass(world.server.endsAfterMs);
      await closed;
      expect(world.processes, "processes after the close").toBe(0);
    }),
    { numRuns: 90 },
  );
});
