/** How long a merged list may be kept: as long as the part of it that goes first (2026-07-28: server/utilities/caching). */
import { type Freshness, NOT_CACHEABLE } from "../core/call.js";

/** What is left at `now` of the time that `held` may be kept. */
export function remainingFreshness(
  held: { readonly freshness: Freshness; readonly fetchedAt: number; readonly stale: boolean },
  now: number,
): Freshness {
  const { ttlMs, scope } = held.freshness;
  const left = held.stale ? 0 : Math.max(0, Math.floor(ttlMs - (now - held.fetchedAt)));
  return { ttlMs: left, scope };
}

/** The freshness of a whole by that of its parts; without parts the whole is stale at once. */
export function mergedFreshness(parts: readonly Freshness[]): Freshness {
  if (parts.length === 0) return NOT_CACHEABLE;
  return {
    ttlMs: Math.min(...parts.map(({ ttlMs }) => ttlMs)),
    scope: parts.every(({ scope }) => scope === "public") ? "public" : "private",
  };
}
