/** Persistence of the lists of one server: restores them at the start, and caches changes. */
import type { ListKind } from "../core/lists.js";
import type { ListStore, PersistedList, PersistedLists } from "../core/persisted-lists.js";
import { SHARED_SCOPE } from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import { type CachedList, type InternedList, type ScopedLists, showsAll } from "./scoped-lists.js";

/** No cache. */
const NO_STORE: ListStore = { known: undefined, followLists: () => {}, changed: () => {} };

/** The lists of one server, and their persistent store. */
export class ListPersistence {
  readonly #lists: ScopedLists;
  readonly #store: ListStore;
  /** The lists are unknown, and the last start failed or hung. */
  #startFailed: boolean;
  /** Every list of the shared scope was restored, was loaded, or has failed: partial lists would pass for complete. */
  #isWhole = false;

  constructor(lists: ScopedLists, store: ListStore | undefined) {
    this.#lists = lists;
    this.#store = store ?? NO_STORE;
    this.#startFailed = this.#store.known?.startFailed ?? false;
  }

  /**
   * Whether the last start of the server, in this run or the one before, failed or hung, and it has no cached lists.
   */
  get startFailed(): boolean {
    return this.#startFailed;
  }

  /** Restores the cached lists that `shown` lets through. Returns whether lists of the shared scope are now known. */
  restore(shown: (kind: ListKind, items: readonly JsonObject[]) => readonly JsonObject[]): boolean {
    // From the least recently used class on, to keep the order of use.
    for (const [name, lists] of [...(this.#store.known?.scopes ?? [])].reverse()) {
      for (const [kind, { items, fetchedAt, ...rest }] of lists) {
        const fetched = name === SHARED_SCOPE.capabilityClass ? monotonic(fetchedAt) : LONG_AGO;
        const given = { shown: shown(kind, items), unfiltered: items, fetchedAt: fetched, ...rest };
        this.#lists.restore(name, kind, given);
      }
    }
    this.#isWhole = this.#lists.shared.lists.size > 0;
    return this.#isWhole;
  }

  /** From now on the store caches these lists; `isWhole`: they are those of an earlier config. */
  follow(isWhole: boolean): void {
    this.#isWhole ||= isWhole;
    this.#store.followLists(() => ({
      startFailed: this.#startFailed,
      scopes: this.#isWhole ? scopesOf(this.#lists) : new Map(),
    }));
  }

  /** The server has listed; `isNew` is false if nothing changed. */
  loaded(isNew: boolean): void {
    if (!isNew && !this.#startFailed) return;
    this.#startFailed = false;
    this.#store.changed();
  }

  /** Every list of the shared scope was loaded or has failed. */
  settled(): void {
    if (this.#lists.shared.lists.size === 0) this.failed();
    else if (!this.#isWhole) this.#store.changed();
    this.#isWhole = true;
  }

  /** The server lists only for principals with a sign-in: their lists are all there is. */
  closed(): void {
    this.#isWhole = true;
  }

  /** The server could not be started, timed out, or could not list. */
  failed(): void {
    if (this.#startFailed || this.#lists.shared.lists.size > 0) return;
    this.#startFailed = true;
    this.#store.changed();
  }
}

/** The age of a restored list that is reloaded once its server runs and a client requests it. */
const LONG_AGO = Number.NEGATIVE_INFINITY;

/** The `performance.now()` time of a time in ms since 1970; one in the future counts as now. */
const monotonic = (at: number): number => performance.now() - Math.max(0, Date.now() - at);

/** Equal lists share one object, so that they are stored once. */
function scopesOf(lists: ScopedLists): PersistedLists["scopes"] {
  const known = new Map<InternedList, PersistedList>();
  const keptOf = (held: CachedList): PersistedList => {
    // With filters, equal lists may come from different responses.
    if (!showsAll(held)) return knownList(held);
    const kept = known.get(held.list) ?? knownList(held);
    known.set(held.list, kept);
    return kept;
  };
  return new Map(
    [...lists.byClass()].map(([name, kinds]) => [
      name,
      new Map([...kinds].map(([kind, held]) => [kind, keptOf(held)])),
    ]),
  );
}

function knownList({ unfiltered, malformed, freshness, hasTtl, fetchedAt }: CachedList): PersistedList {
  const since = Math.max(0, Math.round(Date.now() - (performance.now() - fetchedAt)));
  return { items: unfiltered, malformed, freshness, hasTtl, fetchedAt: since };
}
