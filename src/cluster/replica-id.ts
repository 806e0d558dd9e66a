/**
 * The id of a replica: random, new at each start, because a restarted replica must not inherit what the dead one
 * issued.
 */
import { randomInt } from "node:crypto";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
const LENGTH = 5;

/** Five of `0-9a-z`, of which the first is a letter: it cannot be a worker number. About 46 million are possible. */
export function newReplicaId(): string {
  const all = LETTERS + DIGITS;
  const rest = Array.from({ length: LENGTH - 1 }, () => all[randomInt(all.length)]);
  return [LETTERS[randomInt(LETTERS.length)], ...rest].join("");
}
