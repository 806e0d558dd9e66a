/** Which lists a server advertises, how fresh a cached one is, and when it is loaded again. */

import type { Freshness } from "../core/call.js";
import { LIST_KINDS, LISTS, type ListKind } from "../core/lists.js";
import type { ServerFacts } from "../core/upstream.js";
import { objectAt } from "../wire/json.js";
import type { CachedList } from "./scoped-lists.js";

/** A server with list_changed is polled at this interval (ms) anyway, because notifications get lost. */
const REFRESH_AFTER_MS = { announced: 300_000, silent: 30_000 } as const;

/** A server with a ttlMs is polled when that has expired; within these bounds (ms). */
const MIN_AGE_MS = 1_000;
const MAX_AGE_MS = 3_600_000;

/** Whether the server has the list; a server that has never connected may have it. */
export function offersList(facts: ServerFacts | undefined, kind: ListKind): boolean {
  return facts === undefined || objectAt(facts.capabilities, LISTS[kind].capability) !== undefined;
}

/** The lists that are stale at `now`. */
export function expiredLists(
  lists: ReadonlyMap<ListKind, CachedList>,
  facts: ServerFacts | undefined,
  now: number,
): readonly ListKind[] {
  return LIST_KINDS.filter((kind) => {
    const held = lists.get(kind);
    if (held === undefined || !offersList(facts, kind)) return false;
    return now - held.fetchedAt > maxAgeMs(held, facts, kind);
  });
}

function maxAgeMs({ hasTtl, freshness }: CachedList, facts: ServerFacts | undefined, kind: ListKind): number {
  if (hasTtl) return Math.min(Math.max(freshness.ttlMs, MIN_AGE_MS), MAX_AGE_MS);
  const announced = objectAt(facts?.capabilities, LISTS[kind].capability)?.listChanged === true;
  return announced ? REFRESH_AFTER_MS.announced : REFRESH_AFTER_MS.silent;
}

/** The remaining ttlMs of `held` at `now`. */
export function remainingFreshness(
  held: { readonly freshness: Freshness; readonly fetchedAt: number; readonly stale: boolean },
  now: number,
): Freshness {
  const { ttlMs, scope } = held.freshness;
  const left = held.stale ? 0 : Math.max(0, Math.floor(ttlMs - (now - held.fetchedAt)));
  return { ttlMs: left, scope };
}
