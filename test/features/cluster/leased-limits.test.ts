/** Limits that replicas count together: never more than the limit, and few uses of the store. */

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Logger, SILENT } from "../../../src/core/logger.js";
import type { SharedBudget } from "../../../src/core/replicas.js";
import type { SharedStore } from "../../../src/core/shared-store.js";
import { Stop } from "../../../src/core/stop.js";
import { LeasedLimits } from "../../../src/features/cluster/shared-limits.js";
import { type OpenStore, openStore } from "../../../src/features/cluster/store.js";
import { fakeTime, pass, settle } from "../../support/fake-time.js";
import fc from "../../support/fast-check.js";
import { hasRedis, PATIENT, type Redis, startRedis } from "../../support/redis.js";
import { until } from "../../support/until.js";
import { memoryStore } from "./replicas.js";

function limitsOver(
  store: SharedStore,
  at: number,
  count: number,
  onOutage: "share" | "closed" | "open" = "share",
  logger: Logger = SILENT,
) {
  const uses: string[] = [];
  const limits = new LeasedLimits({
    store,
    directory: { own: `r${at}`, count },
    secret: "a secret of all replicas",
    onOutage,
    logger,
    onLeaseCall: (kind) => uses.push(kind),
  });
  onTestFinished(() => limits.close());
  return { limits, uses };
}

/** Whether a call is admitted. */
async function isAdmitted(budget: SharedBudget): Promise<boolean> {
  await budget.prepare();
  if (budget.waitMs > 0) return false;
  budget.spend();
  return true;
}

describe.runIf(hasRedis)("replicas with a store", () => {
  let redis: Redis;
  let clock: OpenStore;
  const stores: OpenStore[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    for (let at = 0; at < 5; at += 1)
      stores.push(
        await openStore({ config: { url: redis.url, prefix: "limits" }, logger: SILENT, ...PATIENT }),
      );
    await until("connections", () => stores.every(({ isUp }) => isUp));
    [clock] = stores as [OpenStore];
  });
  afterAll(async () => {
    for (const store of stores) await store.close();
    await redis.stop();
  });

  /** By the clock of the store, in ms. */
  const now = async (): Promise<number> => {
    const [seconds, micros] = (await clock.command(["TIME"])) as [string, string];
    return Number(seconds) * 1000 + Number(micros) / 1000;
  };
  let names = 0;
  const replicasOf = (count: number) => {
    const all = stores.slice(0, count).map((store, at) => limitsOver(store, at, count));
    names += 1;
    return { all, name: `limit ${names}` };
  };

  test("never exceed the limit together, whatever the workload", async () => {
    const workload = fc.record({
      count: fc.integer({ min: 1, max: 5 }),
      capacity: fc.integer({ min: 1, max: 300 }),
      perSecond: fc.integer({ min: 1, max: 2_000 }),
      callers: fc.integer({ min: 1, max: 12 }),
      calls: fc.integer({ min: 1, max: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(workload, async ({ count, capacity, perSecond, callers, calls }) => {
        const { all, name } = replicasOf(count);
        const settings = { kind: "rate", capacity, perMs: perSecond / 1000 } as const;
        const began = await now();
        const caller = async (at: number): Promise<number> => {
          const budget = all[at % count]?.limits.budget(name, settings) as SharedBudget;
          let admitted = 0;
          for (let call = 0; call < calls; call += 1) if (await isAdmitted(budget)) admitted += 1;
          return admitted;
        };
        const counts = await Promise.all(Array.from({ length: callers }, (_, at) => caller(at)));
        const admitted = counts.reduce((sum, each) => sum + each, 0);
        expect(admitted).toBeLessThanOrEqual(capacity + ((await now()) - began) * settings.perMs + 1e-6);
        expect(admitted).toBeGreaterThan(0);
      }),
      { numRuns: 20 },
    );
  });

  test("spend a quota completely, and never more, across replicas", async () => {
    const { all, name } = replicasOf(4);
    const settings = { kind: "quota", count: 50, windowMs: 3_600_000 } as const;
    let admitted = 0;
    for (let round = 0; round < 3; round += 1) {
      for (let call = 0; call < 200; call += 1) {
        const budget = all[call % 4]?.limits.budget(name, settings) as SharedBudget;
        if (await isAdmitted(budget)) admitted += 1;
        expect(admitted).toBeLessThanOrEqual(50);
      }
    }
    expect(admitted).toBe(50);
  });

  test("access the store for one call in fifty at a tenth of the limit", async () => {
    const { all, name } = replicasOf(2);
    const settings = { kind: "rate", capacity: 5_000, perMs: 5 } as const;
    let admitted = 0;
    for (let call = 0; call < 1_000; call += 1)
      if (await isAdmitted(all[call % 2]?.limits.budget(name, settings) as SharedBudget)) admitted += 1;
    expect(admitted).toBe(1_000);
    const uses = all.reduce((sum, replica) => sum + replica.uses.length, 0);
    expect(uses / admitted).toBeLessThanOrEqual(0.02);
  });

  test("return unused leases, so that others can use them", async () => {
    const { all, name } = replicasOf(2);
    const settings = { kind: "quota", count: 40, windowMs: 3_600_000 } as const;
    const [one, two] = all.map(({ limits }) => limits.budget(name, settings)) as [SharedBudget, SharedBudget];
    expect(await isAdmitted(one)).toBe(true);
    await all[0]?.limits.close();
    let admitted = 1;
    while (await isAdmitted(two)) admitted += 1;
    expect(admitted).toBe(40);
  });

  test("run as many calls concurrently as the limit allows, and every queued call gets its turn", async () => {
    const { all, name } = replicasOf(3);
    let running = 0;
    let most = 0;
    const call = async (at: number): Promise<void> => {
      const free = await all[at % 3]?.limits.places(name).take(4, new Stop());
      running += 1;
      most = Math.max(most, running);
      await now();
      running -= 1;
      free?.();
    };
    await Promise.all(Array.from({ length: 40 }, (_, at) => call(at)));
    expect([running, most]).toEqual([0, 4]);
  });

  test("a call that is cancelled while it waits for a slot takes none", async () => {
    const { all, name } = replicasOf(2);
    const free = await all[0]?.limits.places(name).take(1, new Stop());
    const stop = new Stop();
    const waiting = all[1]?.limits.places(name).take(1, stop);
    stop.abort("given up");
    await expect(waiting).rejects.toBe("given up");
    free?.();
    (await all[1]?.limits.places(name).take(1, new Stop()))?.();
  });
});

describe("replicas with an unavailable store", () => {
  fakeTime();
  const RATE = { kind: "rate", capacity: 30, perMs: 0.03 } as const;
  const FIRST_MOMENT_MS = 250;

  async function admittedIn(seconds: number, onOutage: "share" | "closed" | "open"): Promise<number> {
    const store = memoryStore({ "lease.rate": () => [0, 1_000], "lease.return": () => 1 });
    const views = [store.view(), store.view(), store.view()];
    const budgets = views.map((view, at) => {
      const { limits } = limitsOver(view, at, 3, onOutage);
      view.connect(false);
      return limits.budget("a", RATE);
    });
    await pass(FIRST_MOMENT_MS);
    let admitted = 0;
    for (let step = 0; step < seconds * 20; step += 1) {
      for (const budget of budgets)
        for (let call = 0; call < 5; call += 1) if (await isAdmitted(budget)) admitted += 1;
      await pass(50);
    }
    return admitted;
  }

  test("enforce the limit together, each its share", async () => {
    const admitted = await admittedIn(10, "share");
    expect(admitted).toBeLessThanOrEqual(30 * (10 + FIRST_MOMENT_MS / 1000));
    expect(admitted).toBeGreaterThan(280);
  });

  test.each([0, 2, 100])("refuse no call far below the limit %i ms into an outage", async (ms) => {
    const store = memoryStore({ "lease.rate": () => [1, 0], "lease.return": () => 1 });
    const view = store.view();
    const budget = limitsOver(view, 0, 3).limits.budget("a", { kind: "rate", capacity: 5000, perMs: 5 });
    view.connect(false);
    await pass(ms);
    const admitted = Array.from({ length: 300 }, () => isAdmitted(budget));
    await pass(FIRST_MOMENT_MS);
    expect((await Promise.all(admitted)).filter(Boolean)).toHaveLength(300);
  });

  test("start with an empty share in each outage", async () => {
    const store = memoryStore({ "lease.rate": () => [1, 0], "lease.return": () => 1 });
    const view = store.view();
    const budget = limitsOver(view, 0, 3).limits.budget("a", RATE);
    for (const outage of [1, 2]) {
      view.connect(false);
      await pass(FIRST_MOMENT_MS);
      let admitted = 0;
      while (await isAdmitted(budget)) admitted += 1;
      expect([outage, admitted]).toEqual([outage, 2]);
      view.connect(true);
      await pass(60_000);
    }
  });

  test("admit nothing with onOutage closed, and the whole limit each with open", async () => {
    expect(await admittedIn(10, "closed")).toBe(0);
    expect(await admittedIn(10, "open")).toBeGreaterThan(900 - 20);
  });

  test("report the calls admitted during the outage, so that nothing counts twice", async () => {
    const debts: number[] = [];
    const store = memoryStore({
      "lease.rate": (_memory, _keys, args) => {
        debts.push(Number(args[4]));
        return [10, 0];
      },
      "lease.return": () => 1,
    });
    const view = store.view();
    const { limits } = limitsOver(view, 0, 1);
    const budget = limits.budget("a", RATE);
    view.connect(false);
    await pass(1_000);
    let admitted = 0;
    while (await isAdmitted(budget)) admitted += 1;
    expect(admitted).toBeGreaterThan(25);
    view.connect(true);
    await settle();
    expect(await isAdmitted(budget)).toBe(true);
    for (let call = 0; call < 10; call += 1) await isAdmitted(budget);
    expect(debts[0]).toBe(admitted);
    expect(debts.slice(1).every((debt) => debt === 0)).toBe(true);
  });

  test("count separately if the store refuses, and log it once", async () => {
    const store = memoryStore({
      "lease.rate": () => {
        throw new Error("NOPERM this user has no permissions to run the 'time' command");
      },
      "lease.return": () => 1,
    });
    const lines: string[] = [];
    const { limits } = limitsOver(store.view(), 0, 1, "open", {
      ...SILENT,
      error: (_, sentence) => lines.push(sentence),
    });
    const budget = limits.budget("a", RATE);
    let admitted = 0;
    for (let call = 0; call < 40; call += 1) if (await isAdmitted(budget)) admitted += 1;
    expect([admitted, lines.length]).toEqual([30, 1]);
    expect(lines[0]).toContain("refuses to count limits");
  });

  test("run their share of calls concurrently, and at least one", async () => {
    const view = memoryStore().view();
    view.connect(false);
    const places = limitsOver(view, 0, 3).limits.places("a");
    const taken = await Promise.all([places.take(6, new Stop()), places.take(6, new Stop())]);
    const stop = new Stop();
    const third = places.take(6, stop);
    stop.abort("no place");
    await expect(third).rejects.toBe("no place");
    for (const free of taken) free();
    (await limitsOver(view, 1, 3).limits.places("b").take(1, new Stop()))();
  });
});
