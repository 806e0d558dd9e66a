/**
 * Wall-clock time in microseconds: the monotonic clock, corrected when it deviates from the time of day (suspend, NTP).
 */

/** Allowed deviation (ms) of the two: the time of day has whole milliseconds. */
const TOLERANCE_MS = 2;

/** Wall-clock times for spans. */
export class WallClock {
  #origin = Date.now() - performance.now();

  /** In ms since 1970, for `now` by `performance.now()`. */
  at(now: number): number {
    const day = Date.now();
    if (Math.abs(this.#origin + now - day) > TOLERANCE_MS) this.#origin = day - now;
    return this.#origin + now;
  }
}
