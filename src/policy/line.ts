/** A fixed number of places, and a line of bounded length before them. */
import type { StopSignal } from "../core/stop.js";

interface Waiting {
  readonly admit: () => void;
  /** How many may be inside with it. */
  readonly places: number;
}

export class Line {
  #taken = 0;
  readonly #waiting = new Set<Waiting>();
  /** Those who want to know when nobody is left. */
  readonly #empty: (() => void)[] = [];

  /**
   * @param places how many may be inside at the same time
   * @param room how many may wait before they are turned away
   */
  constructor(
    readonly places: number,
    readonly room: number,
  ) {
    if (!Number.isInteger(places) || places < 1) throw new RangeError("there must be at least one place");
    if (!Number.isInteger(room) || room < 0) throw new RangeError("the room to wait must not be negative");
  }

  /** How many are inside. */
  get taken(): number {
    return this.#taken;
  }

  /** How many stand in line. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Takes a place at once where one is free (`"inside"`), else stands in line (a promise that resolves inside,
   * and rejects with the signal's reason when it is aborted first), else is turned away (`"full"`).
   * Whoever got inside must `leave`.
   *
   * `returning` is for those who were inside before and have left something half done there. They need not stand behind
   * the others, and there are as many places more for them: those inside may wait for just what they have come to end.
   */
  enter(signal: StopSignal, returning = false): "inside" | "full" | Promise<void> {
    const places = returning ? 2 * this.places : this.places;
    if (this.#taken < places && (returning || this.#waiting.size === 0)) {
      this.#taken += 1;
      return "inside";
    }
    if (this.#waiting.size >= this.room) return "full";
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        places,
        admit() {
          signal.removeEventListener("abort", giveUp);
          resolve();
        },
      };
      const giveUp = (): void => {
        this.#waiting.delete(waiting);
        reject(signal.reason);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      this.#waiting.add(waiting);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** Resolves when nobody is inside and nobody waits; at once when that is so. */
  emptied(): Promise<void> {
    if (this.#taken === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#empty.push(resolve);
    });
  }

  /** Gives the place to the first in line who may have it, or sets it free. */
  leave(): void {
    // A Set keeps the order of insertion, so the first of it has waited longest.
    for (const first of this.#waiting) {
      if (this.#taken > first.places) continue;
      this.#waiting.delete(first);
      first.admit();
      return;
    }
    this.#taken -= 1;
    if (this.#taken === 0 && this.#empty.length > 0) for (const tell of this.#empty.splice(0)) tell();
  }
}
