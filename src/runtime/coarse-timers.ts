/** How are timeouts set that rarely fire? Coarse timers: no Node timer is armed until one is within 2 s of firing. */

/** Interval (ms) of the sweep that arms due timers. Timers within two intervals get their own Node timer at once. */
const SWEEP_MS = 1_000;

/**
 * A set of coarse timers, swept by one unref'd interval. The interval ends at the first sweep without pending timers, not
 * with the last timer, so that single calls do not start and stop it.
 */
export class CoarseTimers {
  /** Unordered. A Set would rehash its tables with every few calls. */
  readonly #pending: CoarseTimer[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Calls `ring` after `ms`, as exactly as setTimeout, unless it is cleared or rescheduled. */
  set(ms: number, ring: () => void, now = performance.now()): CoarseTimer {
    const timer = new CoarseTimer(this, ring);
    timer.reschedule(ms, now);
    return timer;
  }

  /** For CoarseTimer only. */
  add(timer: CoarseTimer): void {
    timer.slot = this.#pending.push(timer) - 1;
    this.#timer ??= setInterval(this.#sweep, SWEEP_MS).unref();
  }

  /** For CoarseTimer only. */
  remove(timer: CoarseTimer): void {
    const { slot } = timer;
    timer.slot = -1;
    const last = this.#pending.pop();
    if (last !== undefined && last !== timer) {
      this.#pending[slot] = last;
      last.slot = slot;
    }
  }

  readonly #sweep = (): void => {
    const now = performance.now();
    for (const timer of [...this.#pending]) timer.armIfNear(now);
    if (this.#pending.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  };
}

/** One timer. */
export class CoarseTimer {
  /** The index in the list of pending timers, or -1. */
  slot = -1;
  #dueAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly home: CoarseTimers,
    private readonly ring: () => void,
  ) {}

  /** When it fires, by `performance.now()`. */
  get dueAt(): number {
    return this.#dueAt;
  }

  /** Sets it to fire after `ms`; a timer that has fired is armed again. */
  reschedule(ms: number, now = performance.now()): void {
    this.#dueAt = now + ms;
    if (this.#timer === undefined && this.slot !== -1 && ms > 2 * SWEEP_MS) return;
    this.clear();
    if (ms > 2 * SWEEP_MS) this.home.add(this);
    else this.#timer = setTimeout(this.ring, ms);
  }

  clear(): void {
    if (this.slot !== -1) this.home.remove(this);
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Arms a Node timer where it is near. */
  armIfNear(now: number): void {
    const left = this.#dueAt - now;
    if (left > 2 * SWEEP_MS) return;
    this.home.remove(this);
    this.#timer = setTimeout(this.ring, Math.max(0, left));
  }
}
