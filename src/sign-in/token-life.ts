/** When an access token expires and when it is renewed. Times in ms since 1970, by the local clock. */
import type { TokenSet } from "./types.js";

/** A token is renewed this long before its end at the latest. */
const AHEAD_MS = 60_000;
/** A token is renewed after this fraction of its lifetime at the latest. */
const PART = 0.75;
/** A token is not renewed before this fraction of its lifetime, however short that is. */
const LEAST_PART = 0.5;
/** Jitter, as a fraction of the lifetime: processes that share a token do not all renew it at the same time. */
const JITTER_PART = 0.05;

/** When it expires; Infinity if the server did not say. */
export const endOf = ({ expiresAt }: TokenSet): number => expiresAt ?? Number.POSITIVE_INFINITY;

/**
 * When it must be renewed while still valid; Infinity without a known end, because only a 401 reveals it.
 *
 * @param random from 0 to 1
 */
export function renewalOf({ obtainedAt, expiresAt }: TokenSet, random: number): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
  const life = Math.max(0, expiresAt - obtainedAt);
  const part = Math.min(PART * life, Math.max(life - AHEAD_MS, LEAST_PART * life));
  return obtainedAt + part - random * JITTER_PART * life;
}

/** The delays between failed attempts: 1 s, doubled each time, up to 5 min, minus up to half as jitter. */
export function backoffMs(failures: number, random: number): number {
  const full = Math.min(1_000 * 2 ** Math.min(failures, 20), 300_000);
  return full * (1 - random / 2);
}
