/** A fixed number of places, and a line of bounded length before them. */
import type { StopSignal } from "../core/stop.js";

interface Waiting {
  readonly admit: () => void;
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
   */
  enter(signal: StopSignal): "inside" | "full" | Promise<void> {
    if (this.#taken < this.places && this.#waiting.size === 0) {
      this.#taken += 1;
      return "inside";
    }
    if (this.#waiting.size >= this.room) return "full";
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
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

  /** Gives the place to the first in line, or sets it free. */
  leave(): void {
    // A Set keeps the order of insertion, so the first of it has waited longest.
    for (const first of this.#waiting) {
      this.#waiting.delete(first);
      first.admit();
      return;
    }
    this.#taken -= 1;
    if (this.#taken === 0 && this.#empty.length > 0) for (const tell of this.#empty.splice(0)) tell();
  }
}
