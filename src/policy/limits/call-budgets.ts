/** How many calls are left? A token bucket for rates, and a fixed window for quotas. */

/** Calls that may be spent. */
export interface CallBudget {
  /** Ms until a call is left, by a monotonic clock; 0 when one is. */
  readonly waitMs: number;
  /** Spends one call; check `waitMs` first. The returned function refunds it. */
  spend(): () => void;
}

/** A rate and its burst. */
export interface TokenBucketSettings {
  /** How many it holds, and has when it is new. */
  readonly capacity: number;
  /** How many come back in a millisecond. */
  readonly perMs: number;
}

/** A token bucket on a monotonic clock. */
export class TokenBucket implements CallBudget {
  #tokens: number;
  #at: number;
  readonly #settings: TokenBucketSettings;

  constructor(settings: TokenBucketSettings) {
    this.#settings = settings;
    this.#tokens = settings.capacity;
    this.#at = performance.now();
  }

  get waitMs(): number {
    this.#fill();
    return this.#tokens >= 1 ? 0 : (1 - this.#tokens) / this.#settings.perMs;
  }

  spend(): () => void {
    this.#fill();
    this.#tokens -= 1;
    return () => {
      this.#tokens = Math.min(this.#settings.capacity, this.#tokens + 1);
    };
  }

  #fill(): void {
    const now = performance.now();
    const { capacity, perMs } = this.#settings;
    // Sums of fractions fall short of whole numbers by less than this; a call that has waited must not wait again.
    const filled = this.#tokens + (now - this.#at) * perMs + 1e-9;
    this.#tokens = Math.min(capacity, filled);
    this.#at = now;
  }
}

/** How many calls per window. */
export interface QuotaSettings {
  readonly count: number;
  readonly windowMs: number;
}

/** A fixed-window counter on a monotonic clock. */
export class Quota implements CallBudget {
  readonly #settings: QuotaSettings;
  #used = 0;
  /** When the time that is running began. */
  #since = Number.NEGATIVE_INFINITY;

  constructor(settings: QuotaSettings) {
    this.#settings = settings;
  }

  get waitMs(): number {
    const left = this.#since + this.#settings.windowMs - performance.now();
    return left <= 0 || this.#used < this.#settings.count ? 0 : left;
  }

  spend(): () => void {
    const now = performance.now();
    if (now - this.#since >= this.#settings.windowMs) {
      this.#since = now;
      this.#used = 0;
    }
    this.#used += 1;
    const since = this.#since;
    return () => {
      // What was spent in a time that is over is no use to the one that is running.
      if (since === this.#since) this.#used -= 1;
    };
  }
}
