/** How long a merged list may be kept: as long as the part of it that goes first (2026-07-28: server/utilities/caching). */
import type { Freshness } from "../core/call.js";

/** What is left at `now` of the time that `held` may be kept. */
export function remainingFreshness(
  held: { readonly freshness: Freshness; readonly fetchedAt: number; readonly stale: boolean },
  now: number,
): Freshness {
  const { ttlMs, scope } = held.freshness;
  const left = held.stale ? 0 : Math.max(0, Math.floor(ttlMs - (now - held.fetchedAt)));
  return { ttlMs: left, scope };
}
