/** How long is the backoff before the next attempt to connect? Exponential, with jitter. */

const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;
const JITTER = 0.2;

/** The wait (ms) after `failures` failed attempts in a row; `random` gives numbers from 0 up to 1. */
export function backoff(failures: number, random: () => number): number {
  const wait = Math.min(FIRST_MS * 2 ** Math.max(0, failures - 1), LONGEST_MS);
  return wait * (1 + JITTER * (2 * random() - 1));
}
