/** How a bounded number of places is shared: one principal may take many of them, but never those kept for others. */
import { ANONYMOUS, type Principal } from "./client.js";

/** The part of all places that is given to the first callers, whichever principal they are. */
const UNRESERVED_SHARE = 3 / 4;
/** The part that each principal may have of the rest. */
const PRINCIPAL_SHARE = 1 / 16;

/**
 * Whether a principal that has `own` of the `taken` places may take another one of `total`. From three quarters on only a
 * principal with less than a sixteenth of all may. One that may not can give up the oldest place of its own instead. What
 * has begun is never ended for another principal; a call that still waits in a full line may be (`policy/semaphore.ts`).
 */
export function fitsFairShare(total: number, taken: number, own: number): boolean {
  if (taken >= total) return false;
  return (
    taken < Math.ceil(total * UNRESERVED_SHARE) || own < Math.max(1, Math.floor(total * PRINCIPAL_SHARE))
  );
}

/** Without authentication all hosts are one principal, and no places are kept for others. */
export const isIdentified = ({ id }: Pick<Principal, "id">): boolean => id !== ANONYMOUS.id;
