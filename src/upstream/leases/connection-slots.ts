/** Places that are taken by turns: each has one taker at a time, and whoever comes then waits for the next that is free. */
import type { StopSignal } from "../../core/stop.js";

/** How long (ms) a call waits for a place to itself; then it shares one, and can be asked nothing for sure. */
const WAIT_MS = 10_000;
/** Calls that were given up or never answered end without a word; so often (ms) somebody looks. */
const POLL_MS = 250;

export class ConnectionSlots {
  readonly #taken = new Set<string>();
  readonly #waiting = new Set<() => void>();

  /**
   * Takes the first of `slots` that is not taken, and that `isFree` says is not in use either; the first of all
   * when none becomes free in time or `signal` is aborted. Call the returned function when the turn is over.
   */
  async acquire(
    slots: readonly string[],
    isFree: (slot: string) => boolean,
    signal: StopSignal,
  ): Promise<{ readonly slot: string; readonly release: () => void }> {
    const until = performance.now() + WAIT_MS;
    for (;;) {
      const free = slots.find((slot) => !this.#taken.has(slot) && isFree(slot));
      if (free !== undefined) return this.#occupy(free);
      if (signal.aborted || performance.now() >= until) return { slot: slots[0] ?? "", release: () => {} };
      await this.#nextChange(signal);
    }
  }

  /** Something that was in use may be free now. */
  wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  #occupy(slot: string): { readonly slot: string; readonly release: () => void } {
    this.#taken.add(slot);
    return {
      slot,
      release: () => {
        this.#taken.delete(slot);
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
      const timer = setTimeout(wake, POLL_MS);
      signal.addEventListener("abort", wake, { once: true });
      this.#waiting.add(wake);
    });
  }
}
