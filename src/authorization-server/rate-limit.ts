/** Rate limit for unauthenticated requests: per address and in total, in windows of one minute. */
import { LRUCache } from "lru-cache";
import type { Now } from "./types.js";

interface Window {
  readonly endsAt: number;
  count: number;
}

interface RateLimitOptions {
  /** Requests per minute from one address. */
  readonly perAddress: number;
  /** Requests per minute from all addresses. */
  readonly total: number;
  readonly now: Now;
}

const WINDOW_MS = 60_000;
const MAX_ADDRESSES = 10_000;

/** Counts requests; at most 10,000 addresses are kept. */
export class RateLimit {
  readonly #options: RateLimitOptions;
  readonly #windows = new LRUCache<string, Window>({ max: MAX_ADDRESSES });
  #all: Window = { endsAt: 0, count: 0 };

  constructor(options: RateLimitOptions) {
    this.#options = options;
  }

  /** Counts a request. Returns undefined if it is allowed, otherwise the seconds until the next one is. */
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
