/** Which entries end because their time is over? One timer for all of them finds out. */
import { LRUCache } from "lru-cache";
import { entryLimit } from "../../runtime/cache-limits.js";

/** The timer wakes at least this far apart (ms), for all that have ended meanwhile. */
const MIN_WAIT_MS = 1_000;
/** A longer wait (ms) is made in parts, because timers have a limit. */
const MAX_WAIT_MS = 3_600_000;

/** Entries that hold for a time; the least lately used one goes where there are too many. */
export class ExpiringEntries<T extends object> {
  readonly #entries: LRUCache<string, T>;
  readonly #isTimed: boolean;
  #timer: NodeJS.Timeout | undefined;
  /** `performance.now()` at which the timer is due. */
  #wakesAt = Number.POSITIVE_INFINITY;

  /** @param onExpired receives each entry at most about a second after its end; without it there is no timer */
  constructor(maxEntries: number, onExpired?: (entry: T) => void) {
    this.#isTimed = onExpired !== undefined;
    this.#entries = new LRUCache<string, T>({
      ...entryLimit(maxEntries),
      perf: { now: () => performance.now() }, // resolved at each call, so that tests can inject time
      ...(onExpired !== undefined && {
        dispose: (entry, _key, reason) => {
          if (reason === "expire") onExpired(entry);
        },
      }),
    });
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Keeps `entry` for `ms`, in place of the one before. */
  set(key: string, entry: T, ms: number): void {
    this.#entries.get(key); // one whose time is over expires before it is replaced
    this.#entries.set(key, entry, { ttl: ms });
    if (this.#isTimed) this.#wakeIn(ms);
  }

  /** Takes one out without a word; false where there is none. */
  delete(key: string): boolean {
    return this.#entries.delete(key);
  }

  /** Those that hold, the newest first. */
  list(): readonly (readonly [string, T])[] {
    this.#entries.purgeStale();
    return [...this.#entries.entries()].flatMap(([key, entry]) =>
      entry === undefined ? [] : [[key, entry]],
    );
  }

  /** Ends the timer. */
  close(): void {
    clearTimeout(this.#timer);
    this.#wakesAt = Number.NEGATIVE_INFINITY;
  }

  #wakeIn(ms: number): void {
    const wait = Math.min(Math.max(ms, MIN_WAIT_MS), MAX_WAIT_MS);
    const at = performance.now() + wait;
    if (at >= this.#wakesAt) return;
    clearTimeout(this.#timer);
    this.#wakesAt = at;
    this.#timer = setTimeout(() => this.#wake(), wait).unref();
  }

  #wake(): void {
    this.#wakesAt = Number.POSITIVE_INFINITY;
    this.#entries.purgeStale();
    let next = Number.POSITIVE_INFINITY;
    for (const key of this.#entries.keys()) next = Math.min(next, this.#entries.getRemainingTTL(key));
    if (next < Number.POSITIVE_INFINITY) this.#wakeIn(next);
  }
}
