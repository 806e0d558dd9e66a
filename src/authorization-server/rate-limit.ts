/** How often may a stranger ask? For each address, and for all together, in a window of a minute. */
import { LRUCache } from "lru-cache";
import type { Now } from "./types.js";

interface Window {
  readonly endsAt: number;
  count: number;
}

interface RateLimitOptions {
  /** Per minute, of one address. */
  readonly perAddress: number;
  /** Per minute, of all addresses. */
  readonly total: number;
  readonly now: Now;
}

const WINDOW_MS = 60_000;
const MAX_ADDRESSES = 10_000;

/** Counts requests; nothing is kept beyond 10,000 addresses. */
export class RateLimit {
  readonly #options: RateLimitOptions;
  readonly #windows = new LRUCache<string, Window>({ max: MAX_ADDRESSES });
  #all: Window = { endsAt: 0, count: 0 };

  constructor(options: RateLimitOptions) {
    this.#options = options;
  }

  /** Counts a request. Returns undefined where it may go on, else the seconds until the next one may. */
  take(address: string): number | undefined {
    const { perAddress, total, now } = this.#options;
    const at = now();
    if (this.#all.endsAt <= at) this.#all = { endsAt: at + WINDOW_MS, count: 0 };
    let own = this.#windows.get(address);
    if (own === undefined || own.endsAt <= at) {
      own = { endsAt: at + WINDOW_MS, count: 0 };
      this.#windows.set(address, own);
    }
    if (own.count >= perAddress) return secondsUntil(own.endsAt, at);
    if (this.#all.count >= total) return secondsUntil(this.#all.endsAt, at);
    own.count += 1;
    this.#all.count += 1;
    return undefined;
  }
}

const secondsUntil = (end: number, at: number): number => Math.max(1, Math.ceil((end - at) / 1000));
