/** What time is it, to the microsecond? The monotonic clock, set right where it has left the time of day (a suspended machine, NTP). */

/** How far (ms) the two may be apart: the time of day has whole milliseconds. */
const TOLERANCE_MS = 2;

/** Times of day as spans need them. */
export class WallClock {
  #origin = Date.now() - performance.now();

  /** In ms since 1970, for `now` by `performance.now()`. */
  at(now: number): number {
    const day = Date.now();
    if (Math.abs(this.#origin + now - day) > TOLERANCE_MS) this.#origin = day - now;
    return this.#origin + now;
  }
}
