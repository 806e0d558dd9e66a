/**
 * How many calls run at the same time over all replicas? Each running call has a place in a sorted set of the store, which
 * is renewed while the call runs, and returns by itself when its replica dies.
 */
import { type SharedPlaces, type SharedStore, type StoreScript, StoreUnavailable } from "../core/cluster.js";
import type { StopSignal } from "../core/stop.js";

/** What places are taken from. */
export interface PlacesContext {
  readonly store: SharedStore;
  readonly onOutage: "share" | "closed" | "open";
  readonly share: () => number;
  readonly onUse: () => void;
  /** Called where the store answers, and refuses: what it cannot count is counted as in an outage. */
  readonly onRefused: (error: unknown) => void;
  /** Unique among all replicas. */
  readonly nextId: () => string;
}

/** A place that is not renewed for this time (ms) is free again. */
export const PLACE_TTL_MS = 10_000;
/** How often a waiter asks again where no hint comes, in ms. */
const RETRY_MS = 250;

/** Takes the place ARGV[1] for ARGV[3] ms where fewer than ARGV[2] are taken; returns 1 where it did. */
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

/** Keeps the places ARGV[2…] for another ARGV[1] ms, also those that the store has lost. */
const RENEW: StoreScript = {
  name: "place.renew",
  text: `local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
for at = 2, #ARGV do redis.call('ZADD', KEYS[1], now + tonumber(ARGV[1]), ARGV[at]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`,
};

/** Sets the places ARGV[1…] free. */
const FREE: StoreScript = {
  name: "place.free",
  text: "return redis.call('ZREM', KEYS[1], unpack(ARGV))",
};

/** The places of one key, as this replica sees them. */
export class LeasedPlaces implements SharedPlaces {
  /** Those of running calls. */
  readonly #taken = new Set<string>();
  /** Those whose call has ended, and that the next one takes over. */
  readonly #spare: string[] = [];
  readonly #waiters = new Set<() => void>();

  constructor(
    readonly key: string,
    private readonly context: PlacesContext,
  ) {}

  get isIdle(): boolean {
    return this.#taken.size === 0 && this.#spare.length === 0 && this.#waiters.size === 0;
  }

  async take(limit: number, signal: StopSignal): Promise<() => void> {
    for (;;) {
      if (signal.aborted) throw signal.reason;
      const place = await this.#tryTake(limit);
      if (place !== undefined) return () => this.#release(place);
      if (!signal.aborted) await this.#change(signal);
    }
  }

  /** Keeps what is taken; to be called several times in the life of a place. */
  async renew(): Promise<void> {
    const held = [...this.#taken, ...this.#spare];
    if (held.length === 0) return;
    this.context.onUse();
    // The store reports its outage itself.
    await this.context.store.run(RENEW, [this.key], [String(PLACE_TTL_MS), ...held]).catch(() => {});
  }

  /** Sets the places free that no call has taken over; returns whether there were any. */
  async freeSpare(): Promise<boolean> {
    const spare = this.#spare.splice(0);
    if (spare.length === 0) return false;
    this.context.onUse();
    await this.context.store.run(FREE, [this.key], spare).catch(() => {});
    return true;
  }

  /** A place may have become free. */
  wake(): void {
    const [first] = this.#waiters;
    first?.();
  }

  /** A place that counts as taken; undefined where none is free. */
  async #tryTake(limit: number): Promise<string | undefined> {
    const spare = this.#spare.pop();
    if (spare !== undefined) return this.#hold(spare);
    const { store, onUse, nextId } = this.context;
    const id = nextId();
    if (!store.isUp) return this.#takeAlone(limit, id);
    onUse();
    try {
      const taken = await store.run(TAKE, [this.key], [id, String(limit), String(PLACE_TTL_MS)]);
      return taken === 1 ? this.#hold(id) : undefined;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) this.context.onRefused(error);
      return this.#takeAlone(limit, id);
    }
  }

  /** Without the store each replica has its share, and at least one. */
  #takeAlone(limit: number, id: string): string | undefined {
    const { onOutage, share } = this.context;
    if (onOutage === "closed") throw new StoreUnavailable("no place is given while the store is away");
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

  /** Resolves when a place may be free. @throws the reason of `signal` */
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
