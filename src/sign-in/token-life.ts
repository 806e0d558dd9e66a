/** How long is an access token used, and when is the next one obtained? Times in ms since 1970, by the local clock. */
import type { TokenSet } from "./types.js";

/** A token of a longer life is replaced this long before its end at the latest. */
const AHEAD_MS = 60_000;
/** A token is replaced after this part of its life at the latest. */
const PART = 0.75;
/** A token is not replaced before this part of its life, however short that is. */
const LEAST_PART = 0.5;
/** Processes that share a token do not all ask at the same time: each is early by up to this part of the life. */
const JITTER_PART = 0.05;

/** When it is of no use any more; Infinity where the server did not say. */
export const endOf = ({ expiresAt }: TokenSet): number => expiresAt ?? Number.POSITIVE_INFINITY;

/**
 * When it is to be replaced while it is still used; Infinity where it has no known end, because then only a 401 tells.
 *
 * @param random from 0 to 1
 */
export function renewalOf({ obtainedAt, expiresAt }: TokenSet, random: number): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
  const life = Math.max(0, expiresAt - obtainedAt);
  const part = Math.min(PART * life, Math.max(life - AHEAD_MS, LEAST_PART * life));
  return obtainedAt + part - random * JITTER_PART * life;
}

/** The delays between attempts that failed: a second, doubled each time, up to 5 minutes, less up to a half of it. */
export function backoffMs(failures: number, random: number): number {
  const full = Math.min(1_000 * 2 ** Math.min(failures, 20), 300_000);
  return full * (1 - random / 2);
}
