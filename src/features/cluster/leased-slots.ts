/**
 * A concurrency limit across all replicas: each running call has a member in a sorted set of the store, renewed while
 * the call runs; it expires when the replica dies.
 */
import type { SharedPlaces } from "../../core/replicas.js";
import { type SharedStore, type StoreScript, StoreUnavailable } from "../../core/shared-store.js";
import type { StopSignal } from "../../core/stop.js";

/** Dependencies of the semaphore. */
export interface LeasedSlotsOptions {
  readonly store: SharedStore;
  readonly onOutage: "share" | "closed" | "open";
  readonly share: () => number;
  readonly onUse: () => void;
  /** Called if the store responds with an error: its limits then count as in an outage. */
  readonly onRefused: (error: unknown) => void;
  /** Unique among all replicas. */
  readonly nextId: () => string;
}

/** TTL (ms) of a slot without renewal. */
export const SLOT_TTL_MS = 10_000;
/** Retry interval of a waiter without a notification, in ms. */
const RETRY_MS = 250;

/** Takes the slot ARGV[1] for ARGV[3] ms if fewer than ARGV[2] are taken; returns 1 if it did. */
const TAKE: StoreScript = {
  name: "place.take",
  text: `local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`,
};

/** Renews the slots ARGV[2…] for another ARGV[1] ms, including those that the store has lost. */
const RENEW: StoreScript = {
  name: "place.renew",
  text: `local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
for at = 2, #ARGV do redis.call('ZADD', KEYS[1], now + tonumber(ARGV[1]), ARGV[at]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`,
};

/** Releases the slots ARGV[1…]. */
const FREE: StoreScript = {
  name: "place.free",
  text: "return redis.call('ZREM', KEYS[1], unpack(ARGV))",
};

/** The slots of one key, as seen by this replica. */
export class LeasedSlots implements SharedPlaces {
  /** Slots of running calls. */
  readonly #taken = new Set<string>();
  /** Slots of ended calls, to be reused by the next call. */
  readonly #spare: string[] = [];
  readonly #waiters = new Set<() => void>();
  /** Requests for a slot that the store has not answered. */
  #asking = 0;

  constructor(
    readonly key: string,
    private readonly context: LeasedSlotsOptions,
  ) {}

  get isIdle(): boolean {
    return (
      this.#taken.size === 0 && this.#spare.length === 0 && this.#waiters.size === 0 && this.#asking === 0
    );
  }

  async take(limit: number, signal: StopSignal): Promise<() => void> {
    for (;;) {
      if (signal.aborted) throw signal.reason;
      const place = await this.#tryTake(limit);
      if (place !== undefined) return () => this.#release(place);
      if (!signal.aborted) await this.#change(signal);
    }
  }

  /** Renews the taken slots; call it several times per TTL. */
  async renew(): Promise<void> {
    const held = [...this.#taken, ...this.#spare];
    if (held.length === 0) return;
    this.context.onUse();
    // The store reports its outage itself.
    await this.context.store.run(RENEW, [this.key], [String(SLOT_TTL_MS), ...held]).catch(() => {});
  }

  /** Releases unused slots; returns whether there were any. */
  async freeSpare(): Promise<boolean> {
    const spare = this.#spare.splice(0);
    if (spare.length === 0) return false;
    this.context.onUse();
    await this.context.store.run(FREE, [this.key], spare).catch(() => {});
    return true;
  }

  /** A slot may have become free. */
  wake(): void {
    const [first] = this.#waiters;
    first?.();
  }

  /** A taken slot; undefined if none is free. */
  async #tryTake(limit: number): Promise<string | undefined> {
    const spare = this.#spare.pop();
    if (spare !== undefined) return this.#hold(spare);
    const { store, onUse, nextId } = this.context;
    const id = nextId();
    if (!store.isUp) return this.#takeAlone(limit, id);
    onUse();
    this.#asking += 1;
    try {
      const taken = await store.run(TAKE, [this.key], [id, String(limit), String(SLOT_TTL_MS)]);
      return taken === 1 ? this.#hold(id) : undefined;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) this.context.onRefused(error);
      return this.#takeAlone(limit, id);
    } finally {
      this.#asking -= 1;
    }
  }

  /** Without the store each replica has its share, at least one. */
  #takeAlone(limit: number, id: string): string | undefined {
    const { onOutage, share } = this.context;
    if (onOutage === "closed")
      throw new StoreUnavailable("no concurrency slot is available: the cluster's store cannot be reached");
    const most = onOutage === "open" ? limit : Math.max(1, Math.floor(limit * share()));
    return this.#taken.size < most ? this.#hold(id) : undefined;
  }

  #hold(id: string): string {
    this.#taken.add(id);
    return id;
  }

  #release(place: string): void {
    if (!this.#taken.delete(place)) return;
    this.#spare.push(place);
    this.wake();
  }

  /** Resolves when a slot may be free. @throws the reason of `signal` */
  #change(signal: StopSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (then: () => void) => (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", aborted);
        this.#waiters.delete(woken);
        then();
      };
      const woken = end(resolve);
      const aborted = end(() => reject(signal.reason));
      const timer = setTimeout(woken, RETRY_MS);
      this.#waiters.add(woken);
      signal.addEventListener("abort", aborted, { once: true });
    });
  }
}
