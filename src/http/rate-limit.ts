/** Rate limit by key (a network, a client, a sign-in), each with a share of the total, in windows of one minute. */
import { LRUCache } from "lru-cache";
import { fitsFairShare } from "../core/fair-share.js";

interface Window {
  readonly endsAt: number;
  count: number;
}

interface RateLimitOptions {
  /** Per minute and key. */
  readonly perKey: number;
  /** Per minute for all keys; the last quarter is for keys that have taken little. Default: no limit. */
  readonly total?: number;
  /** In ms. */
  readonly now: () => number;
}

const WINDOW_MS = 60_000;
const MAX_KEYS = 10_000;

/** Counts; at most 10,000 keys are kept. */
export class RateLimit {
  readonly #options: RateLimitOptions;
  readonly #windows = new LRUCache<string, Window>({ max: MAX_KEYS });
  #all: Window = { endsAt: 0, count: 0 };

  constructor(options: RateLimitOptions) {
    this.#options = options;
  }

  /** Counts one. Returns undefined if it is allowed, otherwise the seconds until the next one is. */
  take(key: string): number | undefined {
    const { perKey, total = Number.POSITIVE_INFINITY, now } = this.#options;
    const at = now();
    if (this.#all.endsAt <= at) this.#all = { endsAt: at + WINDOW_MS, count: 0 };
    let own = this.#windows.get(key);
    if (own === undefined || own.endsAt <= at) {
      own = { endsAt: at + WINDOW_MS, count: 0 };
      this.#windows.set(key, own);
    }
    if (own.count >= perKey) return secondsUntil(own.endsAt, at);
    if (!fitsFairShare(total, this.#all.count, own.count)) return secondsUntil(this.#all.endsAt, at);
    own.count += 1;
    this.#all.count += 1;
    return undefined;
  }
}

const secondsUntil = (end: number, at: number): number => Math.max(1, Math.ceil((end - at) / 1000));
