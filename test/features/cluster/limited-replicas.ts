/** Replicas with one limit over a store in memory, by fake time, and a model of what the limit allows them together. */
import { onTestFinished } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import type { BudgetSettings, SharedBudget } from "../../../src/core/replicas.js";
import type { StoreScript } from "../../../src/core/shared-store.js";
import { LeasedLimits } from "../../../src/features/cluster/shared-limits.js";
import { pass } from "../../support/fake-time.js";
import { leaseScripts } from "./lease-scripts.js";
import { memoryStore } from "./replicas.js";

const STEP_MS = 50;
export const HOUR_MS = 3_600_000;
export const rate = (capacity: number, count: number, windowMs = 1_000): BudgetSettings => ({
  kind: "rate",
  capacity,
  perMs: count / windowMs,
});

type OnOutage = "share" | "closed" | "open";

/** A bucket of the limit itself: negative where more was taken than it allows in some time. */
class Model {
  least: number;
  #tokens: number;
  #at = performance.now();

  constructor(
    private readonly capacity: number,
    private readonly perMs: number,
  ) {
    this.#tokens = capacity;
    this.least = capacity;
  }

  take(count: number): void {
    const now = performance.now();
    this.#tokens = Math.min(this.capacity, this.#tokens + (now - this.#at) * this.perMs) - count;
    this.#at = now;
    this.least = Math.min(this.least, this.#tokens);
  }
}

interface Outset {
  readonly count: number;
  readonly settings: BudgetSettings;
  readonly onOutage?: OnOutage;
}

/** Replicas with one limit, and what the limit says of all that they take: leases when granted, and calls without one. */
export function replicasOf({ count, settings, onOutage = "share" }: Outset) {
  let skewMs = 0;
  const memory = memoryStore(leaseScripts(() => performance.now() + skewMs));
  const model = settings.kind === "rate" ? new Model(settings.capacity, settings.perMs) : new Model(1e9, 0);
  const all = Array.from({ length: count }, (_, at) => {
    const view = memory.view();
    let leased = 0;
    let lastArgs: readonly string[] = [];
    const run = view.run;
    view.run = async (script: StoreScript, keys: readonly string[], args: readonly string[]) => {
      const answer = await run(script, keys, args);
      const granted =
        script.name === "lease.return" ? -Number(args[0]) : Number((answer as readonly unknown[])[0]);
      if (granted === -1 && script.name !== "lease.return") return answer;
      leased += granted;
      model.take(granted);
      lastArgs = args;
      return answer;
    };
    const limits = new LeasedLimits({
      ...{ store: view, onOutage, logger: SILENT, onLeaseCall: () => {} },
      directory: { own: `r${at}`, count },
      secret: "a secret of all replicas",
    });
    onTestFinished(() => limits.close());
    const budget = limits.budget("a", settings) as SharedBudget;
    const call = async (): Promise<boolean> => {
      // The first moment of an outage is waited for by a call, and not by this test.
      await Promise.race([budget.prepare(), Promise.resolve().then(() => Promise.resolve())]);
      for (let turn = 0; turn < 8; turn += 1) await Promise.resolve();
      if (budget.waitMs > 0) return false;
      if (leased >= 1) leased -= 1;
      else model.take(1);
      budget.spend();
      return true;
    };
    /** The store runs the last lease of this replica again: it was stopped meanwhile. */
    const runLate = (script: StoreScript): void => {
      const [key = ""] = memory.keys().filter((each) => each.startsWith("bucket:"));
      model.take(Math.max(0, Number((memory.runScript(script, [key], lastArgs) as readonly unknown[])[0])));
    };
    return { view, call, budget, runLate };
  });
  const turnClock = (ms: number): void => {
    skewMs += ms;
  };
  return { all, memory, model, turnClock };
}

type Replicas = ReturnType<typeof replicasOf>;

/** Calls at each replica, `perSecond` of each, for `ms`; how many were admitted. */
export async function load({ all }: Replicas, ms: number, perSecond: readonly number[]): Promise<number> {
  let admitted = 0;
  const due = all.map(() => 0);
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    for (const [at, { call }] of all.entries()) {
      due[at] = (due[at] ?? 0) + ((perSecond[at] ?? 0) * STEP_MS) / 1_000;
      for (; (due[at] ?? 0) >= 1; due[at] = (due[at] ?? 0) - 1) if (await call()) admitted += 1;
    }
    await pass(STEP_MS);
  }
  return admitted;
}

export const connectAll = ({ all }: Replicas, isUp: boolean): void => {
  for (const { view } of all) view.connect(isUp);
};

/** Admitted in each of `seconds` seconds. */
export async function secondsOf(
  replicas: Replicas,
  seconds: number,
  perSecond: readonly number[],
): Promise<number[]> {
  const counts: number[] = [];
  for (let second = 0; second < seconds; second += 1) counts.push(await load(replicas, 1_000, perSecond));
  return counts;
}
