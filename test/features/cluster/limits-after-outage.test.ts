/** A limit of several replicas through an outage of the store: never more than the limit, and the limit at once after it. */
import { expect, test } from "vitest";
import { LEASE_RATE } from "../../../src/features/cluster/lease-scripts.js";
import { fakeTime, pass } from "../../support/fake-time.js";
import fc from "../../support/fast-check.js";
import { leaseScripts } from "./lease-scripts.js";
import { connectAll, HOUR_MS, load, rate, replicasOf, secondsOf } from "./limited-replicas.js";
import type { StoreView } from "./memory-store.js";
import { memoryStore } from "./replicas.js";

fakeTime();

test.each([
  ["1 s", 1],
  ["8 s", 8],
  ["5 min", 300],
])("after an outage of %s at full use the limit is there at once, and never more", async (_, seconds) => {
  const replicas = replicasOf({ count: 2, settings: rate(100, 100) });
  const full = [120, 120];
  await load(replicas, 3_000, full);
  connectAll(replicas, false);
  const during = await load(replicas, seconds * 1_000, full);
  expect(during).toBeGreaterThan(100 * (seconds - 0.5) * 0.9);
  connectAll(replicas, true);
  for (const count of await secondsOf(replicas, 4, full)) {
    expect(count).toBeGreaterThanOrEqual(90);
    expect(count).toBeLessThanOrEqual(110);
  }
  expect(replicas.model.least).toBeGreaterThan(-1e-6);
});

test("leases that a stopped store runs when it continues are not granted, and delay nothing", async () => {
  const replicas = replicasOf({ count: 2, settings: rate(100, 100) });
  const full = [120, 120];
  await load(replicas, 3_000, full);
  connectAll(replicas, false);
  await load(replicas, 8_000, full);
  for (const { runLate } of replicas.all) runLate(LEASE_RATE);
  connectAll(replicas, true);
  for (const count of await secondsOf(replicas, 3, full)) expect(count).toBeGreaterThanOrEqual(90);
  expect(replicas.model.least).toBeGreaterThan(-1e-6);
});

test("replicas that come back at different times admit the limit together meanwhile", async () => {
  const replicas = replicasOf({ count: 3, settings: rate(90, 90) });
  const full = [100, 100, 100];
  await load(replicas, 2_000, full);
  connectAll(replicas, false);
  await load(replicas, 8_000, full);
  let meanwhile = 0;
  for (const { view } of replicas.all) {
    view.connect(true);
    meanwhile += await load(replicas, 450, full);
  }
  expect(meanwhile).toBeGreaterThan(90 * 1.35 * 0.9);
  expect((await secondsOf(replicas, 2, full)).every((count) => count >= 80)).toBe(true);
  expect(replicas.model.least).toBeGreaterThan(-1e-6);
});

test("a replica without calls during the outage delays no other, and its share comes back within a second", async () => {
  const replicas = replicasOf({ count: 2, settings: rate(100, 100) });
  await load(replicas, 2_000, [120, 120]);
  connectAll(replicas, false);
  await load(replicas, 8_000, [120, 0]);
  connectAll(replicas, true);
  const [first = 0, second = 0] = await secondsOf(replicas, 2, [120, 0]);
  expect(first).toBeGreaterThanOrEqual(45);
  expect(second).toBeGreaterThanOrEqual(90);
  expect(replicas.model.least).toBeGreaterThan(-1e-6);
});

test("an idle outage leaves the burst as it was", async () => {
  const replicas = replicasOf({ count: 2, settings: rate(500, 10) });
  await load(replicas, 1_000, [5, 5]);
  connectAll(replicas, false);
  await pass(60_000);
  connectAll(replicas, true);
  expect(await load(replicas, 1_000, [400, 400])).toBeGreaterThanOrEqual(450);
  expect(replicas.model.least).toBeGreaterThan(-1e-6);
});

test("a few calls during a short outage cost the burst of an hour nothing", async () => {
  const replicas = replicasOf({ count: 2, settings: rate(1_000, 1_000, HOUR_MS) });
  await load(replicas, 1_000, [1, 1]);
  connectAll(replicas, false);
  // Most of them of leases that began before it.
  const during = await load(replicas, 8_000, [10, 10]);
  connectAll(replicas, true);
  expect(during + (await load(replicas, 10_000, [100, 100]))).toBeGreaterThanOrEqual(970);
  expect(replicas.model.least).toBeGreaterThan(-1e-6);
});

test("a replica that alone was cut off owes one window at most", async () => {
  const replicas = replicasOf({ count: 2, settings: rate(100, 100) });
  const [, cut] = replicas.all;
  await load(replicas, 2_000, [120, 120]);
  cut?.view.connect(false);
  await load(replicas, 20_000, [120, 120]);
  cut?.view.connect(true);
  const counts = await secondsOf(replicas, 4, [120, 120]);
  expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBeGreaterThanOrEqual(90);
  expect(counts.slice(2).every((count) => count >= 90 && count <= 110)).toBe(true);
});

test("with open, what each admitted is not owed: the limit counts again at once", async () => {
  const replicas = replicasOf({ count: 2, settings: rate(100, 100), onOutage: "open" });
  const full = [300, 300];
  await load(replicas, 2_000, full);
  connectAll(replicas, false);
  expect(await load(replicas, 8_000, full)).toBeGreaterThan(1_500);
  connectAll(replicas, true);
  for (const count of await secondsOf(replicas, 3, full)) {
    expect(count).toBeGreaterThanOrEqual(90);
    expect(count).toBeLessThanOrEqual(110);
  }
});

test("with open, calls beyond the rate are deducted from a burst that they did not come from", async () => {
  const replicas = replicasOf({ count: 2, settings: rate(1_000, 1_000, HOUR_MS), onOutage: "open" });
  await load(replicas, 1_000, [1, 1]);
  connectAll(replicas, false);
  expect(await load(replicas, 4_000, [100, 0])).toBe(400);
  connectAll(replicas, true);
  expect(await load(replicas, 10_000, [100, 100])).toBeLessThanOrEqual(602);
});

test("with closed, nothing is admitted meanwhile, and the limit at once after it", async () => {
  const replicas = replicasOf({ count: 2, settings: rate(100, 100), onOutage: "closed" });
  await load(replicas, 2_000, [120, 120]);
  connectAll(replicas, false);
  await load(replicas, 200, [120, 120]);
  expect(await load(replicas, 5_000, [120, 120])).toBe(0);
  connectAll(replicas, true);
  expect((await secondsOf(replicas, 2, [120, 120])).every((count) => count >= 90)).toBe(true);
  expect(replicas.model.least).toBeGreaterThan(-1e-6);
});

test.each([
  ["was emptied", 0],
  ["was emptied by an outage", 300],
  ["was emptied by an outage of minutes", 180_000],
])("a store that %s admits no second burst", async (_, outageMs) => {
  const replicas = replicasOf({ count: 2, settings: rate(1_000, 1_000, HOUR_MS) });
  expect(await load(replicas, 5_000, [200, 200])).toBeGreaterThan(900);
  if (outageMs > 0) connectAll(replicas, false);
  replicas.memory.flush();
  await pass(outageMs);
  connectAll(replicas, true);
  const refilled = (1_000 / HOUR_MS) * (outageMs + 20_000);
  expect(await load(replicas, 10_000, [200, 200])).toBeLessThanOrEqual(150 + refilled);
  expect(replicas.model.least).toBeGreaterThan(-150);
});

test("a store that came back with older data admits what was left by what its replicas have seen", async () => {
  const replicas = replicasOf({ count: 2, settings: rate(1_000, 1_000, HOUR_MS) });
  await load(replicas, 1_000, [20, 20]);
  const [key = ""] = replicas.memory.keys();
  const old = replicas.memory.get(key) ?? "";
  expect(await load(replicas, 5_000, [200, 200])).toBeGreaterThan(850);
  connectAll(replicas, false);
  replicas.memory.set(key, old, HOUR_MS);
  await pass(1_000);
  connectAll(replicas, true);
  expect(await load(replicas, 10_000, [200, 200])).toBeLessThanOrEqual(120);
});

test.each([
  ["back an hour", -HOUR_MS],
  ["forward an hour", HOUR_MS],
])("a clock of the store that is turned %s stops no call for longer than a window", async (_, ms) => {
  const replicas = replicasOf({ count: 2, settings: rate(100, 100) });
  await load(replicas, 2_000, [120, 120]);
  connectAll(replicas, false);
  await load(replicas, 4_000, [120, 120]);
  replicas.turnClock(ms);
  connectAll(replicas, true);
  const counts = await secondsOf(replicas, 4, [120, 120]);
  expect(counts.slice(2).every((count) => count >= 90 && count <= 110)).toBe(true);
  expect(replicas.model.least).toBeGreaterThanOrEqual(-100);
});

test("outages in quick succession owe nothing, and never exceed the limit", async () => {
  const replicas = replicasOf({ count: 2, settings: rate(100, 100) });
  const full = [120, 120];
  await load(replicas, 2_000, full);
  for (const ms of [500, 2_000, 300, 4_000]) {
    connectAll(replicas, false);
    await load(replicas, ms, full);
    connectAll(replicas, true);
    await load(replicas, 200, full);
  }
  expect((await secondsOf(replicas, 3, full)).every((count) => count >= 80 && count <= 110)).toBe(true);
  expect(replicas.model.least).toBeGreaterThan(-1e-6);
});

const QUOTA = { kind: "quota", count: 100, windowMs: 60_000 } as const;

test("a quota that is used up stays so during an outage, until its window ends", async () => {
  const replicas = replicasOf({ count: 2, settings: QUOTA });
  expect(await load(replicas, 2_000, [100, 100])).toBe(100);
  connectAll(replicas, false);
  expect(await load(replicas, 50_000, [10, 10])).toBe(0);
  connectAll(replicas, true);
  expect(await load(replicas, 7_000, [10, 10])).toBe(0);
  expect(await load(replicas, 5_000, [100, 100])).toBe(100);
});

test("a quota whose window ended during an outage is whole at once", async () => {
  const replicas = replicasOf({ count: 2, settings: QUOTA });
  expect(await load(replicas, 2_000, [100, 100])).toBe(100);
  connectAll(replicas, false);
  const during = await load(replicas, 150_000, [10, 10]);
  expect(during).toBeGreaterThan(120);
  expect(during).toBeLessThanOrEqual(255);
  connectAll(replicas, true);
  expect(await load(replicas, 2_000, [100, 100])).toBeGreaterThanOrEqual(95);
});

test("a quota whose window continues counts what was spent during the outage, and survives a lost store", async () => {
  for (const isLost of [false, true]) {
    const replicas = replicasOf({ count: 2, settings: QUOTA });
    const before = await load(replicas, 1_000, [10, 10]);
    connectAll(replicas, false);
    if (isLost) replicas.memory.flush();
    const during = await load(replicas, 20_000, [10, 10]);
    expect(during).toBeGreaterThan(20);
    connectAll(replicas, true);
    expect(before + during + (await load(replicas, 30_000, [10, 10]))).toBeLessThanOrEqual(
      isLost ? 120 : 100,
    );
  }
});

const outage = fc.record({
  afterMs: fc.integer({ min: 0, max: 4_000 }),
  ms: fc.integer({ min: 50, max: 9_000 }),
  backMs: fc.array(fc.integer({ min: 0, max: 800 }), { minLength: 4, maxLength: 4 }),
});
const scenario = fc.record({
  count: fc.integer({ min: 1, max: 4 }),
  capacity: fc.integer({ min: 4, max: 200 }),
  perSecond: fc.integer({ min: 2, max: 200 }),
  use: fc.array(fc.double({ min: 0, max: 2, noNaN: true }), { minLength: 4, maxLength: 4 }),
  outages: fc.array(outage, { minLength: 1, maxLength: 3 }),
});

test("shares never exceed the limit over any time, owe nothing, and the limit is there at once (property)", async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ count, capacity, perSecond, use, outages }) => {
      // Below that the steps of this test are the limit.
      const burst = Math.max(capacity, Math.ceil(perSecond / 5));
      const replicas = replicasOf({ count, settings: rate(burst, perSecond) });
      const demand = use.map((each) => Math.round((each * perSecond * 2) / count));
      for (const { afterMs, ms, backMs } of outages) {
        await load(replicas, afterMs, demand);
        connectAll(replicas, false);
        await load(replicas, ms, demand);
        const order = replicas.all.map(({ view }, at): [StoreView, number] => [view, backMs[at] ?? 0]);
        let passed = 0;
        for (const [view, at] of order.toSorted(([, one], [, two]) => one - two)) {
          await load(replicas, Math.max(0, at - passed), demand);
          passed = Math.max(passed, at);
          view.connect(true);
        }
      }
      expect(replicas.model.least).toBeGreaterThan(-1 - 1e-6);
      const full = demand.map(() => (perSecond * 1.5) / count + 20);
      await load(replicas, 1_000, full);
      const windowMs = Math.max(3_000, 2_000 * Math.ceil(10 / perSecond));
      const admitted = await load(replicas, windowMs, full);
      expect(admitted).toBeGreaterThanOrEqual(Math.floor((perSecond * windowMs * 0.85) / 1_000) - 2);
    }),
    { numRuns: 15 },
  );
});

test("the script of rates never owes more than one capacity, whatever replicas report (property)", async () => {
  const memory = memoryStore(leaseScripts(() => now));
  let now = 1_000_000;
  const report = fc.record({
    ms: fc.integer({ min: -5_000, max: 20_000 }),
    spent: fc.integer({ min: 0, max: 5_000 }),
    unspent: fc.integer({ min: 0, max: 50 }),
    aloneMs: fc.integer({ min: 0, max: 400_000 }),
    agoMs: fc.integer({ min: 0, max: 10_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(report, { minLength: 1, maxLength: 12 }), async (reports) => {
      memory.flush();
      for (const { ms, spent, unspent, aloneMs, agoMs } of reports) {
        now = Math.max(1, now + ms);
        const args = [100, 0.1, 64, 2, spent, unspent, 0.05, aloneMs, agoMs].map(String);
        const [, waitMs, tokens] = memory.runScript(LEASE_RATE, ["k"], [...args, "", "", ""]) as number[];
        expect(Number(tokens)).toBeGreaterThanOrEqual(-100 - 1e-6);
        expect(Number(tokens)).toBeLessThanOrEqual(100);
        expect(waitMs).toBeLessThanOrEqual(1_010);
      }
    }),
  );
});
