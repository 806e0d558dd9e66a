/** Time-outs of which nearly none ever comes: what is over before its time is near costs no timer. */

/** How often (ms) those that wait are looked through. What is no further off than two looks gets a timer of its own. */
const SWEEP_MS = 1_000;

/**
 * Whoever makes it owns one timer at most, which keeps no process alive. It ends by itself at the first look at which
 * nothing waits (else it would begin and end with every call that is alone).
 */
export class CoarseTimers {
  /** In no order. Not a Set: its tables are made anew again and again where things come and go all the time. */
  readonly #pending: CoarseTimer[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Calls `ring` after `ms`, no less exactly than a timer would, unless it is stopped or put off before. */
  set(ms: number, ring: () => void, now = performance.now()): CoarseTimer {
    const alarm = new CoarseTimer(this, ring);
    alarm.reschedule(ms, now);
    return alarm;
  }

  /** Called by the alarms themselves. */
  add(alarm: CoarseTimer): void {
    alarm.slot = this.#pending.push(alarm) - 1;
    this.#timer ??= setInterval(this.#sweep, SWEEP_MS).unref();
  }

  /** Called by the alarms themselves. */
  remove(alarm: CoarseTimer): void {
    const { slot } = alarm;
    alarm.slot = -1;
    const last = this.#pending.pop();
    if (last !== undefined && last !== alarm) {
      this.#pending[slot] = last;
      last.slot = slot;
    }
  }

  readonly #sweep = (): void => {
    const now = performance.now();
    for (const alarm of [...this.#pending]) alarm.armIfNear(now);
    if (this.#pending.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  };
}

export class CoarseTimer {
  /** Where those that are far off keep it. */
  slot = -1;
  #dueAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly home: CoarseTimers,
    private readonly ring: () => void,
  ) {}

  /** When it is to ring, by `performance.now()`. */
  get dueAt(): number {
    return this.#dueAt;
  }

  /** From now on it rings after `ms`, also where it has rung before. */
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

  /** Gets a timer of its own before its time comes. */
  armIfNear(now: number): void {
    const left = this.#dueAt - now;
    if (left > 2 * SWEEP_MS) return;
    this.home.remove(this);
    this.#timer = setTimeout(this.ring, Math.max(0, left));
  }
}
