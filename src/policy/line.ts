/** A fixed number of places, and a line of bounded length before them. */
import { mayTake } from "../core/shares.js";
import type { StopSignal } from "../core/stop.js";

interface Waiting {
  readonly owner: string | undefined;
  readonly admit: () => void;
  /** Turns it away after all. */
  readonly giveWay: () => void;
  /** How many may be inside with it. */
  readonly places: number;
}

/** What the promise of one rejects with that had to give way in line to another owner. */
export const GAVE_WAY = Symbol("gave way to another owner");

export class Line {
  #taken = 0;
  /** Whose the places are that are taken, in no order; a Map of counts would be filled and emptied with every call. */
  readonly #inside: string[] = [];
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
   * and rejects with the signal's reason when it is aborted first), else is turned away (`"full"`). Where an owner
   * has more in a line that is full than the one who comes, its youngest there gives way (`GAVE_WAY`).
   * Whoever got inside must `leave`, under the same `owner`.
   *
   * `owner`: with whom places and room are shared (`mayTake`), by the id of the principal; none where everybody is one.
   *
   * `returning` is for those who were inside before and have left something half done there. They need not stand behind
   * the others, and there are as many places more for them: those inside may wait for just what they have come to end.
   */
  enter(signal: StopSignal, returning = false, owner?: string): "inside" | "full" | Promise<void> {
    const places = returning ? 2 * this.places : this.places;
    // Those who wait may not enter yet, so nobody of another owner overtakes them.
    const mayEnter = owner === undefined ? returning || this.#waiting.size === 0 : true;
    if (mayEnter && this.#hasPlace(places, owner)) {
      this.#take(owner);
      return "inside";
    }
    if (!this.#hasRoom(owner) && !this.#makeRoom(owner)) return "full";
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        owner,
        places,
        admit() {
          signal.removeEventListener("abort", giveUp);
          resolve();
        },
        giveWay() {
          signal.removeEventListener("abort", giveUp);
          reject(GAVE_WAY);
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
  leave(owner?: string): void {
    this.#taken -= 1;
    if (owner !== undefined) {
      const last = this.#inside.pop();
      const at = last === owner ? -1 : this.#inside.indexOf(owner);
      if (at !== -1 && last !== undefined) this.#inside[at] = last;
    }
    // A Set keeps the order of insertion, so the first of it has waited longest.
    for (const first of this.#waiting) {
      if (!this.#hasPlace(first.places, first.owner)) continue;
      this.#waiting.delete(first);
      this.#take(first.owner);
      first.admit();
      return;
    }
    if (this.#taken === 0 && this.#empty.length > 0) for (const tell of this.#empty.splice(0)) tell();
  }

  #take(owner: string | undefined): void {
    this.#taken += 1;
    if (owner !== undefined) this.#inside.push(owner);
  }

  #hasPlace(places: number, owner: string | undefined): boolean {
    if (owner === undefined) return this.#taken < places;
    let own = 0;
    // Nearly always there are few inside, and nobody is counted.
    if (4 * this.#taken >= 3 * places) for (const one of this.#inside) own += one === owner ? 1 : 0;
    return mayTake(places, this.#taken, own);
  }

  #hasRoom(owner: string | undefined): boolean {
    if (owner === undefined) return this.#waiting.size < this.room;
    const own = [...this.#waiting].filter((waiting) => waiting.owner === owner).length;
    return mayTake(this.room, this.#waiting.size, own);
  }

  /** Turns away the youngest of the owner that has most in line; false where nobody has more than `owner` would have. */
  #makeRoom(owner: string | undefined): boolean {
    if (owner === undefined) return false;
    const counts = new Map<string | undefined, number>();
    for (const one of this.#waiting) counts.set(one.owner, (counts.get(one.owner) ?? 0) + 1);
    const [longest] = [...counts].toSorted(([, a], [, b]) => b - a);
    if (longest === undefined || longest[1] <= (counts.get(owner) ?? 0) + 1) return false;
    // One that was inside before has left something half done there.
    const last = [...this.#waiting].findLast((one) => one.owner === longest[0] && one.places === this.places);
    if (last === undefined) return false;
    this.#waiting.delete(last);
    last.giveWay();
    return true;
  }
}
