/** How many calls may be made a second time: a share of all calls, so that a server in trouble is not drowned in repeats. */

export interface RetryBudgetSettings {
  /** The share of all calls; default a fifth. */
  readonly ratio: number;
  /** So many in a second are allowed in any case; default 10. */
  readonly perSecond: number;
}

const DEFAULTS: RetryBudgetSettings = { ratio: 0.2, perSecond: 10 };
/** What is not used up is kept for so many seconds. */
const MAX_SAVED_SECONDS = 10;

/** Time is monotonic: a clock that is set changes nothing. */
export class RetryBudget {
  readonly #settings: RetryBudgetSettings;
  #left: number;
  #at = performance.now();

  constructor(settings: Partial<RetryBudgetSettings> = {}) {
    this.#settings = { ...DEFAULTS, ...settings };
    this.#left = this.#settings.perSecond;
  }

  /** A call is made for the first time. */
  count(): void {
    this.#left = Math.min(this.#left + this.#settings.ratio, this.#most);
  }

  /** Takes one repeat; false when there is none left. */
  take(): boolean {
    const now = performance.now();
    const filled = this.#left + ((now - this.#at) / 1000) * this.#settings.perSecond;
    this.#at = now;
    this.#left = Math.min(filled, this.#most);
    // Sums of fifths fall short of whole numbers by less than this.
    if (this.#left < 1 - 1e-9) return false;
    this.#left -= 1;
    return true;
  }

  get #most(): number {
    return this.#settings.perSecond * MAX_SAVED_SECONDS;
  }
}
