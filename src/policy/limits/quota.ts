/** So many calls in a time that begins with the first of them, and never more; then it begins anew. */
import type { CallBudget } from "./call-budget.js";

export interface QuotaSettings {
  readonly count: number;
  readonly windowMs: number;
}

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
