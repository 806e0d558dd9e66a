/** The calls that one replica may admit of a shared limit while the store does not count: a bucket of its own. */

/** Capacity and refill of the bucket. */
export interface ShareSettings {
  readonly capacity: number;
  readonly perMs: number;
}

/** The report of a share to a store that counts again. */
export interface ShareReport {
  readonly spent: number;
  readonly unspent: number;
  /** By how many calls more than `perMs` allows at most the share was spent, in any time up to its end. */
  readonly burst: number;
  readonly perMs: number;
  /** How long the share counted, and how long ago that ended, in ms. */
  readonly aloneMs: number;
  readonly agoMs: number;
}

/** The share of one outage, or of several in a row without a report between them. Times by `performance.now()`. */
export class OwnShare {
  spent = 0;
  #tokens: number;
  #burst = 0;
  #at: number;
  readonly #startedAt: number;

  /** @param initial tokens; 0 if shares together must not exceed the limit */
  constructor(
    private readonly initial: number,
    since: number,
  ) {
    this.#tokens = initial;
    this.#at = since;
    this.#startedAt = since;
  }

  /** The tokens at `now`, in the outage that began at `since`; what an earlier one left is discarded. */
  fill({ capacity, perMs }: ShareSettings, since: number, now: number): number {
    const ms = Math.max(0, now - this.#at);
    this.#burst = Math.max(0, this.#burst - ms * perMs);
    if (this.#at < since) {
      this.#tokens = this.initial;
      this.#at = since;
    }
    this.#tokens = Math.min(capacity, this.#tokens + Math.max(0, now - this.#at) * perMs);
    this.#at = Math.max(this.#at, now);
    return this.#tokens;
  }

  /** Spends one call; the returned function refunds it. */
  spend(): () => void {
    this.#count(1);
    return () => this.#count(-1);
  }

  /** What is reported at `now`, where the share ended at `end`. */
  report(settings: ShareSettings, since: number, end: number, now: number): ShareReport {
    const unspent = this.fill(settings, since, end);
    return {
      ...{ spent: this.spent, unspent, burst: this.#burst, perMs: settings.perMs },
      aloneMs: Math.max(0, end - this.#startedAt),
      agoMs: Math.max(0, now - end),
    };
  }

  /** An earlier share whose report has not arrived belongs to this one. */
  static merged(earlier: OwnShare, later: OwnShare | undefined): OwnShare {
    if (later === undefined) return earlier;
    earlier.spent += later.spent;
    earlier.#tokens = Math.min(earlier.#tokens, later.#tokens);
    earlier.#burst += later.#burst;
    earlier.#at = Math.max(earlier.#at, later.#at);
    return earlier;
  }

  #count(change: 1 | -1): void {
    this.spent += change;
    this.#burst += change;
    this.#tokens -= change;
  }
}
