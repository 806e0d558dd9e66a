/**
 * The servers of a gateway from its start to its stop, in any sequence of events: they crash, refuse, hang and recover,
 * the config is replaced, hosts call and cancel, and the gateway stops during calls. Each call is answered once, a
 * server has one process at a time, and no slot is leaked.
 *
 * `CARDEA_MODEL_RUNS` sets the number of sequences; `npm run faults -- F27` tries ten thousand.
 */

import { expect, test, vi } from "vitest";
import { fakeTime } from "../support/fake-time.js";
import fc from "../support/fast-check.js";
import { steps, versions } from "./life-cycle/steps.js";
import { NAMES, World } from "./life-cycle/world.js";

const RUNS = Number(process.env.CARDEA_MODEL_RUNS ?? 90);

fakeTime();

/** Whatever may honestly become of a call here. */
const HONEST = new Set([
  "ok",
  "cancelled",
  "timed_out",
  "unknown_target",
  "upstream_unavailable",
  "upstream_closed",
  "outcome_unknown",
]);

test(
  "in any life of a gateway",
  async () => {
    await fc.assert(
      fc.asyncProperty(versions, steps, async (first, commands) => {
        vi.clearAllTimers();
        const world = new World(first);
        await vi.advanceTimersByTimeAsync(0);
        await fc.asyncModelRun(() => ({ model: { versions: first, stopped: false }, real: world }), commands);

        if (world.stopping === undefined) {
          // However bad it was, servers that are well again are met again, and then serve.
          for (const each of NAMES) world.setMood(each, "well");
          await vi.advanceTimersByTimeAsync(240_000);
          const { pipeline } = world.inEffect;
          for (const each of pipeline.servers.keys()) {
            const made = world.call(each, 0);
            await vi.advanceTimersByTimeAsync(100);
            expect(made.outcome, `a call to ${each} in the end`).toBe("ok");
          }
          const taken = [...pipeline.servers.values()].map(
            ({ semaphore }) => semaphore.running + semaphore.queued,
          );
          expect(taken, "places that stay taken").toEqual(taken.map(() => 0));
          world.stop();
        }
        await vi.advanceTimersByTimeAsync(120_000);
        expect(await world.stopping, "processes when all have been ended").toBe(0);
        for (const made of world.calls) {
          expect(made.answers, `answers to call ${made.mark}`).toBe(1);
          expect(HONEST, `the end of call ${made.mark}`).toContain(made.outcome);
        }
        for (const [command, machine] of world.machines) {
          expect(machine.running, `processes left of ${command}`).toEqual([]);
          const marks = machine.carriedOut;
          expect(new Set(marks).size, "calls that were carried out twice").toBe(marks.length);
        }
        expect(vi.getTimerCount()).toBe(0);
      }),
      { numRuns: RUNS },
    );
  },
  600_000 + RUNS * 100,
);
