/** How much is kept of what hosts say and are told between their calls: in all, and shared between principals. */
import type { Principal } from "./client.js";
import { mayTake, sharesWithOthers } from "./shares.js";

/** One principal's part of the budget. */
export interface KeptShare {
  /** False when so many characters are too many now; then nothing is taken. */
  take(characters: number): boolean;
  give(characters: number): void;
}

/** Keeps whatever comes; for what is bounded in another way. */
export const KEEPS_ALL: KeptShare = { take: () => true, give: () => {} };

/** In characters. */
const DEFAULT_TOTAL = 64 * 1024 * 1024;

export class KeptBudget {
  readonly #total: number;
  #taken = 0;
  /** By the ids of principals; only those that have taken something. */
  readonly #own = new Map<string, number>();

  constructor(total: number = DEFAULT_TOTAL) {
    this.#total = total;
  }

  get taken(): number {
    return this.#taken;
  }

  of({ id }: Pick<Principal, "id">): KeptShare {
    const shared = sharesWithOthers({ id });
    return {
      take: (characters) => {
        const own = this.#own.get(id) ?? 0;
        if (!mayTake(this.#total, this.#taken + characters, shared ? own + characters : 0)) return false;
        this.#add(id, own, characters);
        return true;
      },
      give: (characters) => this.#add(id, this.#own.get(id) ?? 0, -characters),
    };
  }

  #add(id: string, own: number, change: number): void {
    this.#taken += change;
    if (own + change > 0) this.#own.set(id, own + change);
    else this.#own.delete(id);
  }
}
