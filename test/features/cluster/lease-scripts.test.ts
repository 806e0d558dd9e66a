/** The scripts that lease calls, in a real Redis whose clock the test sets: the same as their twins in TypeScript. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import type { StoreScript } from "../../../src/core/shared-store.js";
import { LEASE_QUOTA, LEASE_RATE } from "../../../src/features/cluster/lease-scripts.js";
import { type OpenStore, openStore } from "../../../src/features/cluster/store.js";
import fc from "../../support/fast-check.js";
import { hasRedis, PATIENT, type Redis, startRedis } from "../../support/redis.js";
import { until } from "../../support/until.js";
import { leaseRate } from "./lease-scripts.js";

/** The script with its time as the last two arguments: seconds and microseconds. */
const atTime = ({ name, text }: StoreScript): StoreScript => ({
  name,
  text: text.replace("redis.call('TIME')", "{ARGV[#ARGV - 1], ARGV[#ARGV]}"),
});
const timeArgs = (ms: number): readonly string[] => [
  String(Math.floor(ms / 1000)),
  String(Math.round((ms % 1000) * 1000)),
];

describe.runIf(hasRedis)("in Redis", () => {
  let redis: Redis;
  let store: OpenStore;
  beforeAll(async () => {
    redis = await startRedis();
    store = await openStore({ config: { url: redis.url, prefix: "p" }, logger: SILENT, ...PATIENT });
    await until("the connection", () => store.isUp);
  });
  afterAll(async () => {
    await store.close();
    await redis.stop();
  });

  const step = fc.record({
    ms: fc.integer({ min: -3_000, max: 6_000 }),
    wanted: fc.constantFrom(0, 64),
    isBack: fc.boolean(),
    isOpen: fc.boolean(),
    spent: fc.integer({ min: 0, max: 300 }),
    unspent: fc.integer({ min: 0, max: 50 }),
    aloneMs: fc.integer({ min: 1, max: 20_000 }),
    agoMs: fc.integer({ min: 0, max: 2_000 }),
    seen: fc.option(
      fc.record({ count: fc.integer({ min: -50, max: 100 }), ms: fc.integer({ min: -9_000, max: 3_000 }) }),
    ),
    isLost: fc.integer({ min: 0, max: 9 }),
  });

  test("a rate is leased and reported as in the tests without Redis (property)", async () => {
    const script = atTime(LEASE_RATE);
    let names = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
        names += 1;
        const key = `bucket:{${names}}`;
        let now = 1_700_000_000_000;
        let twin: ReturnType<typeof leaseRate>["bucket"] | undefined;
        for (const { ms, wanted, isBack, isOpen, spent, unspent, aloneMs, agoMs, seen, isLost } of steps) {
          now += ms;
          if (isLost === 0) {
            twin = undefined;
            await store.delete(key);
          }
          const back = isOpen ? [spent, 0, 0, 0, 0] : [spent, unspent, 0.05, aloneMs, agoMs];
          const numbers = [100, 0.1, wanted, 2, ...(isBack ? back : [0, 0, 0, 0, 0])].map(String);
          const args = [
            ...numbers,
            ...(seen === null ? ["", ""] : [String(seen.count), String(now + seen.ms)]),
          ];
          const twins = leaseRate(twin, [...args, ""], now);
          twin = twins.bucket;
          const answer = (await store.run(script, [key], [...args, "", ...timeArgs(now)])) as unknown[];
          const [granted, waitMs, tokens, at] = answer.map(Number);
          expect(Math.abs((tokens ?? 0) - Number(twins.answer[2]))).toBeLessThan(1e-3);
          expect([granted, at]).toEqual([twins.answer[0], twins.answer[3]]);
          expect(Math.abs((waitMs ?? 0) - twins.answer[1])).toBeLessThanOrEqual(1);
        }
      }),
      { numRuns: 60 },
    );
  });

  const quota = async (key: string, rest: readonly number[], now: number, seen: readonly number[] = []) => {
    const args = [100, 60_000, 64, 1, ...rest].map(String);
    const last = seen.length === 0 ? ["", ""] : seen.map(String);
    return (await store.run(
      atTime(LEASE_QUOTA),
      [key],
      [...args, ...last, "", ...timeArgs(now)],
    )) as number[];
  };

  test("a quota counts what was spent in its window, and nothing of before", async () => {
    const now = 1_700_000_000_000;
    const leftOf = (key: string, ms: number) => store.command(["PEXPIRE", `p:${key}`, String(ms)]);
    const [, , , used] = await quota("{a}", [0, 0, 0, 0, 0], now);
    expect(used).toBe(50);
    // The window began before the outage of 5 s.
    await leftOf("{a}", 54_000);
    const [, , , then] = await quota("{a}", [20, 3, 0.001, 5_000, 0], now + 6_000);
    expect(then).toBe(50 + 20 + 15);
    // The window begins with the report, after the outage.
    const [, , , fresh] = await quota("{b}", [80, 3, 0.001, 5_000, 0], now);
    expect(fresh).toBe(50);
    // It began 2 s before this replica came back: 3 at once, and 2 or, by the ms of Redis, 3 by the rate.
    await quota("{c}", [0, 0, 0, 0, 0], now);
    await leftOf("{c}", 58_000);
    const [granted = 0, , , partly = 0] = await quota("{c}", [80, 3, 0.001, 5_000, 0], now + 2_000);
    expect([5, 6]).toContain(partly - granted - 50);
  });

  test("a lease that is run too late grants and changes nothing", async () => {
    const now = 1_700_000_000_000;
    const late = [String(now - 1), ...timeArgs(now)];
    for (const [script, numbers] of [
      [LEASE_RATE, [100, 0.1, 64, 2, 20, 0, 0.05, 4_000, 0]],
      [LEASE_QUOTA, [100, 60_000, 64, 1, 20, 0, 0.05, 4_000, 0]],
    ] as const) {
      const args = [...numbers.map(String), "", "", ...late];
      expect(await store.run(atTime(script), [`{late ${script.name}}`], args)).toEqual([-1, now]);
      expect(await store.command(["EXISTS", `p:{late ${script.name}}`])).toBe(0);
    }
  });

  test("a window of a quota that the store lost continues as a replica saw it last", async () => {
    const now = 1_700_000_000_000;
    const [granted, , left, used] = await quota("{d}", [0, 0, 0, 0, 0], now, [90, now + 4_000]);
    expect([granted, used]).toEqual([5, 95]);
    expect(left).toBeLessThanOrEqual(4_000);
    const [, , , over] = await quota("{e}", [0, 0, 0, 0, 0], now, [90, now - 1]);
    expect(over).toBe(50);
  });
});
