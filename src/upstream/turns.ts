/** Places that are taken by turns: each has one taker at a time, and whoever comes then waits for the next that is free. */
import type { StopSignal } from "../core/stop.js";

/** How long (ms) a call waits for a place to itself; then it shares one, and can be asked nothing for sure. */
const WAIT_MS = 10_000;
/** Calls that were given up or never answered end without a word; so often (ms) somebody looks. */
const LOOK_MS = 250;

export class Turns {
  readonly #taken = new Set<string>();
  readonly #waiting = new Set<() => void>();

  /**
   * Takes the first of `places` that is not taken, and that `isFree` says is not in use either; the first of all
   * when none becomes free in time or `signal` is aborted. Call the returned function when the turn is over.
   */
  async take(
    places: readonly string[],
    isFree: (place: string) => boolean,
    signal: StopSignal,
  ): Promise<{ readonly place: string; readonly over: () => void }> {
    const until = performance.now() + WAIT_MS;
    for (;;) {
      const free = places.find((place) => !this.#taken.has(place) && isFree(place));
      if (free !== undefined) return this.#turn(free);
      if (signal.aborted || performance.now() >= until) return { place: places[0] ?? "", over: () => {} };
      await this.#nextChange(signal);
    }
  }

  /** Something that was in use may be free now. */
  wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  #turn(place: string): { readonly place: string; readonly over: () => void } {
    this.#taken.add(place);
    return {
      place,
      over: () => {
        this.#taken.delete(place);
        this.wake();
      },
    };
  }

  #nextChange(signal: StopSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", wake);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, LOOK_MS);
      signal.addEventListener("abort", wake, { once: true });
      this.#waiting.add(wake);
    });
  }
}
