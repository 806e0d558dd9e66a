/** What one replica holds of a shared limit, and when it may let go of it. */
import { expect, test } from "vitest";
import type { SharedStore, StoreScript } from "../../../src/core/shared-store.js";
import { Stop } from "../../../src/core/stop.js";
import { LeasedBudget } from "../../../src/features/cluster/leased-budget.js";
import { LeasedSlots } from "../../../src/features/cluster/leased-slots.js";
import { StoreClock } from "../../../src/features/cluster/store-clock.js";
import { fakeTime, pass } from "../../support/fake-time.js";

fakeTime();

/** A store that is up, and answers a script so. */
const storeThat = (answer: (script: StoreScript) => unknown) => ({
  store: { isUp: true, run: async (script: StoreScript) => answer(script) } as unknown as SharedStore,
  onOutage: "share" as const,
  share: () => 0.5,
  clock: new StoreClock(),
  onUse: () => {},
  onRefused: () => {},
});

test("slots are in use from the request to the store on", async () => {
  let answer: (taken: number) => void = () => {};
  const context = storeThat(
    () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  );
  const slots = new LeasedSlots("k", { ...context, nextId: () => "1" });
  const taken = slots.take(1, new Stop().signal);
  expect(slots.isIdle).toBe(false);
  answer(1);
  await taken;
  expect(slots.isIdle).toBe(false);
});

test("the rest of a lease is returned to the window of the quota that it comes from, and to no later one", async () => {
  const sent: string[] = [];
  const context = storeThat(({ name }) => {
    sent.push(name);
    return [5, 0, 1_000];
  });
  const quota = { kind: "quota", count: 20, windowMs: 1_000 } as const;
  for (const afterMs of [500, 1_001]) {
    sent.length = 0;
    const budget = new LeasedBudget("k", quota, { ...context, outage: () => undefined });
    await budget.prepare();
    budget.spend();
    await pass(afterMs);
    await budget.giveBack(performance.now());
    expect(sent).toEqual(afterMs < 1_000 ? ["lease.quota", "lease.return"] : ["lease.quota"]);
  }
});
