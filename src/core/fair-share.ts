/** How much of a bounded resource, of slots or of memory, may one principal take? */
import { ANONYMOUS, type Principal } from "./client.js";
import { principalKey } from "./principal.js";

/** The share of all slots that is given out first come, first served. */
const UNRESERVED_SHARE = 3 / 4;
/** The share of all slots up to which a principal may still take from the rest. */
const PRINCIPAL_SHARE = 1 / 16;

/**
 * Whether a principal that holds `own` of the `taken` slots may take another one of `total`. Once three quarters are
 * taken, only principals with less than a sixteenth of all may. A principal that may not can evict its own oldest. Running
 * work is never evicted for another principal; a call that waits in a full queue may be (`resilience/concurrency.ts`).
 */
export function fitsFairShare(total: number, taken: number, own: number): boolean {
  if (taken >= total) return false;
  return (
    taken < Math.ceil(total * UNRESERVED_SHARE) || own < Math.max(1, Math.floor(total * PRINCIPAL_SHARE))
  );
}

/** False without authentication: all hosts are one principal then, and nothing is reserved. */
export const isIdentified = ({ id }: Pick<Principal, "id">): boolean => id !== ANONYMOUS.id;

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

/** A sum of characters, of which each principal gets a fair share. */
export class MemoryBudget {
  readonly #total: number;
  #used = 0;
  /** Characters by the key of the principal; principals with none are left out. */
  readonly #byPrincipal = new Map<string, number>();

  constructor(total: number = DEFAULT_TOTAL) {
    this.#total = total;
  }

  get used(): number {
    return this.#used;
  }

  shareOf(principal: Pick<Principal, "id" | "key">): BudgetShare {
    const id = principalKey(principal);
    const shared = isIdentified(principal);
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
