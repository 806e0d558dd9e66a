/** How much text may be kept for hosts between their calls, in all and per principal? */
import type { Principal } from "./client.js";
import { fitsFairShare, isIdentified } from "./fair-share.js";

/** One principal's share of the budget. */
export interface BudgetShare {
  /** False when the budget or the share of the principal is used up; then nothing is reserved. */
  reserve(characters: number): boolean;
  release(characters: number): void;
}

/** Never refuses; for state that is bounded in another way. */
export const UNLIMITED_SHARE: BudgetShare = { reserve: () => true, release: () => {} };

/** In characters. */
const DEFAULT_TOTAL = 64 * 1024 * 1024;

/** A sum of characters, of which each principal gets a fair share (`fair-share.ts`). */
export class MemoryBudget {
  readonly #total: number;
  #used = 0;
  /** Characters by the id of the principal; principals with none are left out. */
  readonly #byPrincipal = new Map<string, number>();

  constructor(total: number = DEFAULT_TOTAL) {
    this.#total = total;
  }

  get used(): number {
    return this.#used;
  }

  shareOf({ id }: Pick<Principal, "id">): BudgetShare {
    const shared = isIdentified({ id });
    return {
      reserve: (characters) => {
        const own = this.#byPrincipal.get(id) ?? 0;
        if (!fitsFairShare(this.#total, this.#used + characters, shared ? own + characters : 0)) return false;
        this.#add(id, own, characters);
        return true;
      },
      release: (characters) => this.#add(id, this.#byPrincipal.get(id) ?? 0, -characters),
    };
  }

  #add(id: string, own: number, change: number): void {
    this.#used += change;
    if (own + change > 0) this.#byPrincipal.set(id, own + change);
    else this.#byPrincipal.delete(id);
  }
}
