/** The limits that replicas share: each bucket and each semaphore, keyed by a digest. */
import { createHmac, hkdfSync } from "node:crypto";
import { LRUCache } from "lru-cache";
import { inBackground, type Logger } from "../../core/logger.js";
import type {
  BudgetSettings,
  ReplicaDirectory,
  SharedBudget,
  SharedLimits,
  SharedPlaces,
} from "../../core/replicas.js";
import type { SharedStore } from "../../core/shared-store.js";
import { LeasedBudget, type Outage } from "./leased-budget.js";
import { LeasedSlots, SLOT_TTL_MS } from "./leased-slots.js";
import { StoreClock } from "./store-clock.js";

/** Dependencies of the limits. */
export interface SharedLimitsOptions {
  readonly store: SharedStore;
  readonly directory: Pick<ReplicaDirectory, "own" | "count">;
  /** Shared by all replicas; key of the digests. */
  readonly secret: string;
  readonly onOutage: "share" | "closed" | "open";
  readonly logger: Logger;
  /** Called with each command. */
  readonly onLeaseCall: (kind: "rate" | "concurrency") => void;
}

const MAX_BUDGETS = 10_000;
/** A lease that was not used for this time (ms) is returned. */
const IDLE_MS = 1_000;
/** A slot that no call reuses within this time (ms) is released. */
const SPARE_MS = 200;
const HINT = "hint:place";
/** Minimum time between two reports of an error of the store, in ms. */
const REPORT_MS = 60_000;

/** The leases of one replica. */
export class LeasedLimits implements SharedLimits {
  readonly #budgets = new LRUCache<string, LeasedBudget>({
    max: MAX_BUDGETS,
    dispose: (budget) => this.#inBackground(budget.giveBack(Number.POSITIVE_INFINITY)),
  });
  /** Only those in use. */
  readonly #places = new Map<string, LeasedSlots>();
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #digestKey: Buffer;
  readonly #ends: readonly (() => void)[];
  #outage: Outage | undefined;
  readonly #clock = new StoreClock();
  #lastPlace = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: SharedLimitsOptions) {
    this.#digestKey = Buffer.from(hkdfSync("sha256", options.secret, "cardea", "keys of limits", 32));
    this.#timers = [
      setInterval(() => this.#giveIdleBack(), IDLE_MS),
      setInterval(() => this.#inBackground(this.#freeSpares()), SPARE_MS),
      setInterval(() => this.#inBackground(this.#renewPlaces()), SLOT_TTL_MS / 4),
    ];
    for (const timer of this.#timers) timer.unref();
    this.#outage = options.store.isUp ? undefined : { since: performance.now() };
    this.#ends = [
      options.store.subscribe(HINT, (key) => this.#places.get(key)?.wake()),
      options.store.onChange((isUp) => this.#onChange(isUp)),
    ];
  }

  get share(): number {
    return 1 / this.options.directory.count;
  }

  budget(key: string, settings: BudgetSettings): SharedBudget {
    const name = `bucket:{${this.#digestOf(key)}}`;
    let budget = this.#budgets.get(name);
    if (budget === undefined) {
      const { store, onOutage, onLeaseCall } = this.options;
      const context = {
        ...{ store, onOutage, clock: this.#clock, share: () => this.share, outage: () => this.#outage },
        onUse: () => onLeaseCall("rate"),
        onRefused: (error: unknown) => this.#reportRefusal(error),
      };
      budget = new LeasedBudget(name, settings, context);
      this.#budgets.set(name, budget);
    }
    return budget;
  }

  places(key: string): SharedPlaces {
    const name = `places:{${this.#digestOf(key)}}`;
    let places = this.#places.get(name);
    if (places === undefined) {
      const { store, onOutage, onLeaseCall, directory } = this.options;
      places = new LeasedSlots(name, {
        ...{ store, onOutage, share: () => this.share, onUse: () => onLeaseCall("concurrency") },
        onRefused: (error) => this.#reportRefusal(error),
        nextId: () => {
          this.#lastPlace += 1;
          return `${directory.own}-${this.#lastPlace}`;
        },
      });
      this.#places.set(name, places);
    }
    return places;
  }

  /** Returns all leases. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    for (const end of this.#ends) end();
    const budgets = [...this.#budgets.values()].map((budget) => budget.giveBack(Number.POSITIVE_INFINITY));
    await Promise.all([...budgets, this.#freeSpares()]);
  }

  #onChange(isUp: boolean): void {
    const now = performance.now();
    if (!isUp) this.#outage = { since: now };
    else if (this.#outage !== undefined) {
      this.#outage = { ...this.#outage, until: now };
      this.#inBackground(this.#report());
    }
  }

  /** One after the other: a store that has just started is not flooded. */
  async #report(): Promise<void> {
    for (const budget of [...this.#budgets.values()]) await budget.report();
  }

  #giveIdleBack(): void {
    const before = performance.now() - IDLE_MS;
    for (const budget of this.#budgets.values()) this.#inBackground(budget.giveBack(before));
  }

  async #freeSpares(): Promise<void> {
    for (const [name, places] of this.#places) {
      if (await places.freeSpare()) this.options.store.publish(HINT, name);
      if (places.isIdle) this.#places.delete(name);
    }
  }

  async #renewPlaces(): Promise<void> {
    await Promise.all([...this.#places.values()].map((places) => places.renew()));
  }

  /** At most one line per minute: otherwise each call would write one. */
  #reportRefusal(error: unknown): void {
    const now = performance.now();
    if (now - this.#reportedAt < REPORT_MS) return;
    this.#reportedAt = now;
    this.options.logger.error(
      { error },
      "the cluster's store refuses to count limits, so each replica counts as in an outage; cardea doctor says what is missing",
    );
  }

  #inBackground(work: Promise<void>): void {
    inBackground(work, this.options.logger, "leases of limits");
  }

  #digestOf(key: string): string {
    return createHmac("sha256", this.#digestKey).update(key).digest("base64url").slice(0, 32);
  }
}
