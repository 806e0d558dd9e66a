/** How a bounded number of places is shared: one principal may take many of them, but never those kept for others. */
import { ANONYMOUS, type Principal } from "./client.js";

/** The part of all places that is given to whoever comes first. */
const FREE = 3 / 4;
/** The part that each principal may have of the rest. */
const OWN = 1 / 16;

/**
 * Whether somebody who has `own` of the `taken` places may take another one of `total`. From three quarters on only
 * those may who have less than a sixteenth of all. Somebody who may not can give up the oldest of its own instead;
 * nobody else's is ever ended for it.
 */
export function mayTake(total: number, taken: number, own: number): boolean {
  if (taken >= total) return false;
  return taken < Math.ceil(total * FREE) || own < Math.max(1, Math.floor(total * OWN));
}

/** Where nobody says who they are, everybody is the same principal, and no places are kept for others. */
export const sharesWithOthers = ({ id }: Pick<Principal, "id">): boolean => id !== ANONYMOUS.id;
