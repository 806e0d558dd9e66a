/** A bucket of tokens that fills up evenly; exact, and by a clock that nobody sets. */
import type { CallBudget } from "./call-budget.js";

export interface TokenBucketSettings {
  /** How many it holds, and has when it is new. */
  readonly capacity: number;
  /** How many come back in a millisecond. */
  readonly perMs: number;
}

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
    // Sums of fractions fall short of whole numbers by less than this, and whoever waited must not wait again.
    const filled = this.#tokens + (now - this.#at) * perMs + 1e-9;
    this.#tokens = Math.min(capacity, filled);
    this.#at = now;
  }
}
