/** May a principal take one more of a bounded number of slots, or are the rest reserved for others? */
import { ANONYMOUS, type Principal } from "./client.js";

/** The share of all slots that is given out first come, first served. */
const UNRESERVED_SHARE = 3 / 4;
/** The share of all slots up to which a principal may still take from the rest. */
const PRINCIPAL_SHARE = 1 / 16;

/**
 * Whether a principal that holds `own` of the `taken` slots may take another one of `total`. Once three quarters are
 * taken, only principals with less than a sixteenth of all may. A principal that may not can evict its own oldest. Running
 * work is never evicted for another principal; a call that waits in a full queue may be (`policy/semaphore.ts`).
 */
export function fitsFairShare(total: number, taken: number, own: number): boolean {
  if (taken >= total) return false;
  return (
    taken < Math.ceil(total * UNRESERVED_SHARE) || own < Math.max(1, Math.floor(total * PRINCIPAL_SHARE))
  );
}

/** False without authentication: all hosts are one principal then, and nothing is reserved. */
export const isIdentified = ({ id }: Pick<Principal, "id">): boolean => id !== ANONYMOUS.id;
