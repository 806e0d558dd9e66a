/** What is a replica called? A random id, new at each start: one that is started again must not inherit what the dead one issued. */
import { randomInt } from "node:crypto";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const DIGITS = "0123456789";
const LENGTH = 5;

/** Five of `0-9a-z`, of which the first is a letter: it is no number of a worker. About 46 million are possible. */
export function newReplicaId(): string {
  const all = LETTERS + DIGITS;
  const rest = Array.from({ length: LENGTH - 1 }, () => all[randomInt(all.length)]);
  return [LETTERS[randomInt(LETTERS.length)], ...rest].join("");
}
