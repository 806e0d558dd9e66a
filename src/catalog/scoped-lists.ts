/**
 * The lists of one server per list scope.
 *
 * A connection that has listed sees its own list. Before that it sees the list of its capability class: clients of
 * equal capabilities mostly get equal lists. For a new class, the shared list is used.
 */
import { LRUCache } from "lru-cache";
import type { Freshness } from "../core/call.js";
import { type Client, clientInfoLength } from "../core/client.js";
import type { MalformedEntry } from "../core/list-entries.js";
import { LIST_KINDS, type ListKind } from "../core/lists.js";
import { type ListScope, SHARED_SCOPE } from "../core/upstream.js";
import { isSame, type JsonObject } from "../wire/json.js";
import { areSameEntries, listDigest } from "./entry-digests.js";

/** A loaded list; equal lists of one server share one `InternedList` across scopes. */
export interface InternedList {
  /** Unique in this process; equal ids mean equal lists. */
  readonly id: number;
  readonly items: readonly JsonObject[];
}

/** A list with the time of its load. */
export interface CachedList {
  readonly list: InternedList;
  /** All entries of the server, before filters. */
  readonly unfiltered: readonly JsonObject[];
  /** Entries that hosts cannot read; they are in neither. */
  readonly malformed: readonly MalformedEntry[];
  readonly freshness: Freshness;
  /** Whether the server sends a ttlMs. */
  readonly hasTtl: boolean;
  /** By the monotonic clock, in milliseconds. */
  readonly fetchedAt: number;
  /** The list may have changed since, and could not be reloaded. */
  readonly stale: boolean;
}

/** The lists of one connection. */
export interface ConnectionLists {
  readonly listScope: ListScope;
  /** The client for which its lists are loaded; undefined for the shared connection. */
  readonly client: Client | undefined;
  readonly lists: Map<ListKind, CachedList>;
  openedAt: number;
  /** Whether its last list was refused for lack of a sign-in. */
  wantsSignIn: boolean;
}

interface ClassLists {
  readonly lists: Map<ListKind, CachedList>;
  /** A connection of the class has another list by now, so the next one should load its own. */
  stale: boolean;
  /** Its name means nothing to another process. */
  isTransient?: true;
}

/**
 * Servers that list by the client's capabilities often announce the full list just after opening. Until then a change
 * belongs to the class; later to one connection only.
 */
const OPENING_MS = 5_000;

/** At most 2,000 scopes, and 16 Mi characters of what their clients declare. */
const MAX_CHARACTERS = 16 * 1024 * 1024;
const MIN_CHARACTERS = Math.ceil(MAX_CHARACTERS / 2_000);

/** The lists of one server, per list scope. */
export class ScopedLists {
  readonly shared: ConnectionLists = newConnectionLists(SHARED_SCOPE, undefined);
  readonly #connections = new LRUCache<string, ConnectionLists>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ client }) => MIN_CHARACTERS + (client === undefined ? 0 : clientInfoLength(client)),
    dispose: ({ client }, key) => {
      if (client !== undefined && this.#scopeKeys.get(client.affinity) === key)
        this.#scopeKeys.delete(client.affinity);
    },
  });
  /** The scope key of each affinity that has its own connection. */
  readonly #scopeKeys = new Map<string, string>();
  readonly #classes = new LRUCache<string, ClassLists>({ max: 200 });
  #lastId = 0;
  /** Keyed by digest, while a scope holds them. */
  readonly #interned = new LRUCache<string, WeakRef<InternedList>>({ max: 500 });

  /** The scope of `audience`, if it exists. */
  find(listScope: ListScope): ConnectionLists | undefined {
    return listScope.key === SHARED_SCOPE.key ? this.shared : this.#connections.get(listScope.key);
  }

  /** The scope of `audience`; created if missing. */
  register(listScope: ListScope, client: Client): ConnectionLists {
    const known = this.find(listScope);
    if (known !== undefined) return known;
    const connection = newConnectionLists(listScope, client);
    this.#connections.set(listScope.key, connection);
    // If one connection serves a whole class, its lists outlive the client that first loaded them.
    if (listScope.key !== listScope.capabilityClass) this.#scopeKeys.set(client.affinity, listScope.key);
    else
      for (const [kind, held] of this.#classes.get(listScope.key)?.lists ?? [])
        connection.lists.set(kind, held);
    return connection;
  }

  /** The list of this scope; undefined before it is loaded. */
  read(listScope: ListScope, kind: ListKind): CachedList | undefined {
    if (listScope.key === SHARED_SCOPE.key) return this.shared.lists.get(kind);
    return (
      this.#connections.get(listScope.key)?.lists.get(kind) ??
      this.#classes.get(listScope.capabilityClass)?.lists.get(kind) ??
      this.shared.lists.get(kind)
    );
  }

  /** Whether a list of this scope itself, or of its class, is loaded; `read` may return that of other clients. */
  isLoaded(listScope: ListScope, kind: ListKind): boolean {
    if (
      listScope.capabilityClass === SHARED_SCOPE.capabilityClass ||
      this.find(listScope)?.lists.has(kind) === true
    )
      return true;
    const known = this.#classes.get(listScope.capabilityClass);
    return known !== undefined && !known.stale && known.lists.has(kind);
  }

  /** Whether anything is known of what this scope or its class lists. */
  hasClass(listScope: ListScope): boolean {
    return LIST_KINDS.some((kind) => this.isLoaded(listScope, kind));
  }

  /** Whether the lists of this scope are known without a request over its own connection. */
  isComplete(listScope: ListScope): boolean {
    if (
      listScope.capabilityClass === SHARED_SCOPE.capabilityClass ||
      this.#hasEveryKind(this.find(listScope)?.lists)
    )
      return true;
    const known = this.#classes.get(listScope.capabilityClass);
    return known !== undefined && !known.stale && this.#hasEveryKind(known.lists);
  }

  /**
   * Stores a list that `connection` loaded. Returns the previous one, if any, and the current one; `isNew` is false if
   * the response is unchanged.
   */
  store(
    connection: ConnectionLists,
    kind: ListKind,
    heard: {
      readonly shown: readonly JsonObject[];
      readonly unfiltered: readonly JsonObject[];
      readonly malformed: readonly MalformedEntry[];
      readonly freshness: Freshness;
      readonly hasTtl: boolean;
    },
  ): { readonly before: InternedList | undefined; readonly now: InternedList; readonly isNew: boolean } {
    const known = this.read(connection.listScope, kind);
    const before = known?.list;
    const fetchedAt = performance.now();
    const { shown, ...rest } = heard;
    const held: CachedList = { list: this.#intern(kind, shown), ...rest, fetchedAt, stale: false };
    connection.lists.set(kind, held);
    if (connection !== this.shared) this.#storeForClass(connection, kind, held);
    // A change of the shared list probably concerns each class too.
    else if (before !== held.list) for (const each of this.#classes.values()) each.stale = true;
    return { before, now: held.list, isNew: known === undefined || !isSameAnswer(known, held) };
  }

  /** The current lists of each class, without transient ones; the most recently used class first. */
  byClass(): ReadonlyMap<string, ReadonlyMap<ListKind, CachedList>> {
    const known = new Map<string, ReadonlyMap<ListKind, CachedList>>();
    if (this.shared.lists.size > 0) known.set(SHARED_SCOPE.capabilityClass, this.shared.lists);
    for (const [name, { lists, stale, isTransient }] of this.#classes.entries()) {
      if (isTransient === true) continue;
      // If one connection serves the whole class, its own lists are those of the class.
      const own = this.#connections.peek(name)?.lists;
      if (own !== undefined && own.size > 0) known.set(name, own);
      else if (!stale) known.set(name, lists);
    }
    return known;
  }

  /**
   * Restores the lists of a class from an earlier run; `shown` is the part that filters leave. Each is reloaded when
   * possible.
   */
  restore(
    name: string,
    kind: ListKind,
    { shown, ...rest }: Omit<CachedList, "list" | "stale"> & { readonly shown: readonly JsonObject[] },
  ): void {
    const held: CachedList = { list: this.#intern(kind, shown), ...rest, stale: true };
    if (name === SHARED_SCOPE.capabilityClass) this.shared.lists.set(kind, held);
    else this.#classOf(name).lists.set(kind, held);
  }

  /** The lists of a class may have changed, and it has no connection to reload them. */
  makeClassStale(listScope: ListScope): void {
    const known = this.#classes.get(listScope.capabilityClass);
    if (known !== undefined) known.stale = true;
  }

  /** `kind` of `connection` may have changed and could not be reloaded. */
  makeStale(connection: ConnectionLists, kind: ListKind): void {
    const held = connection.lists.get(kind);
    if (held !== undefined && !held.stale) connection.lists.set(kind, { ...held, stale: true });
  }

  /** Every list of every scope may have changed. */
  makeAllStale(): void {
    for (const connection of this.all()) {
      for (const kind of LIST_KINDS) this.makeStale(connection, kind);
    }
  }

  /** Drops the state of one affinity. Returns the removed scope, if any. */
  forget(affinity: string): ConnectionLists | undefined {
    const key = this.#scopeKeys.get(affinity);
    if (key === undefined) return undefined;
    const gone = this.#connections.get(key);
    this.#connections.delete(key);
    return gone;
  }

  /** Inherits the lists of `before` for the same server, whose filters may have differed. */
  inherit(before: ScopedLists, shown: ShownPart): void {
    const takeOver = this.#showing(shown);
    takeOver(before.shared.lists, this.shared.lists);
    // From the least recently used one on, to keep the order of use.
    for (const key of before.#connections.rkeys()) {
      const connection = before.#connections.peek(key);
      if (connection?.client === undefined) continue;
      const heir = this.register(connection.listScope, connection.client);
      heir.openedAt = connection.openedAt;
      takeOver(connection.lists, heir.lists);
    }
    for (const name of before.#classes.rkeys()) {
      const known = before.#classes.peek(name);
      if (known === undefined) continue;
      const heir: ClassLists = { ...known, lists: new Map() };
      takeOver(known.lists, heir.lists);
      this.#classes.set(name, heir);
    }
  }

  /** Shows all lists as `shown` does now. Returns the kinds of which a list has changed. */
  showAnew(shown: ShownPart): readonly ListKind[] {
    const show = this.#showing(shown);
    const held = [...this.all(), ...this.#classes.values()];
    const changed = held.flatMap(({ lists }) => show(lists, lists));
    return LIST_KINDS.filter((kind) => changed.includes(kind));
  }

  /** The lists of this kind before filters, each once. */
  unfiltered(kind: ListKind): readonly (readonly JsonObject[])[] {
    const held = [...this.all(), ...this.#classes.values()];
    const known = held.flatMap(({ lists }) => lists.get(kind) ?? []);
    const latest = new Map(known.map((each) => [each.unfiltered, each]));
    return uniqueLists([...latest.values()]);
  }

  /** The scopes with lists of their own. */
  all(): readonly ConnectionLists[] {
    return [this.shared, ...this.#connections.values()];
  }

  /** The number of connections with their own lists. */
  get size(): number {
    return this.#connections.size;
  }

  /** Writes the lists of `from` into `to`, as `shown` shows them; the same list once. Returns the kinds that differ. */
  #showing(shown: ShownPart) {
    const known = new Map<
      InternedList,
      { readonly unfiltered: CachedList["unfiltered"]; readonly list: InternedList }
    >();
    return (from: ReadonlyMap<ListKind, CachedList>, to: Map<ListKind, CachedList>): readonly ListKind[] =>
      [...from].flatMap(([kind, held]) => {
        const { unfiltered } = held;
        const like = known.get(held.list);
        // Equal lists may come of different responses.
        const list =
          like !== undefined && areSameEntries(like.unfiltered, unfiltered)
            ? like.list
            : this.#intern(kind, shown(kind, unfiltered));
        known.set(held.list, { unfiltered, list });
        to.set(kind, { ...held, list });
        return list === held.list ? [] : [kind];
      });
  }

  #storeForClass(connection: ConnectionLists, kind: ListKind, held: CachedList): void {
    const { capabilityClass: name, isTransient } = connection.listScope;
    const known = this.#classOf(name);
    if (isTransient === true) known.isTransient = true;
    const forecast = known.lists.get(kind);
    const opening = held.fetchedAt - connection.openedAt < OPENING_MS;
    if (forecast === undefined || opening || forecast.list === held.list) {
      known.lists.set(kind, held);
      if (opening) known.stale = false;
    } else {
      known.stale = true;
    }
  }

  #classOf(name: string): ClassLists {
    const known = this.#classes.get(name) ?? { lists: new Map<ListKind, CachedList>(), stale: false };
    this.#classes.set(name, known);
    return known;
  }

  #hasEveryKind(lists: ReadonlyMap<ListKind, CachedList> | undefined): boolean {
    return lists !== undefined && LIST_KINDS.every((kind) => lists.has(kind));
  }

  #intern(kind: ListKind, items: readonly JsonObject[]): InternedList {
    const digest = `${kind}:${listDigest(items)}`;
    const known = this.#interned.get(digest)?.deref();
    if (known !== undefined) return known;
    this.#lastId += 1;
    const list: InternedList = { id: this.#lastId, items };
    this.#interned.set(digest, new WeakRef(list));
    return list;
  }
}

/** What is shown of the entries that the server lists. */
type ShownPart = (kind: ListKind, given: readonly JsonObject[]) => readonly JsonObject[];

/** Whether hosts see the list as the server has sent it, so that equal ones are of equal responses. */
export const showsAll = ({ list: { items }, unfiltered }: CachedList): boolean =>
  items.length === unfiltered.length && areSameEntries(items, unfiltered);

/** Without those whose entries another one has. */
const uniqueLists = (held: readonly CachedList[]): readonly (readonly JsonObject[])[] =>
  held
    .filter((each, at) => held.findIndex((other) => areSameEntries(other.unfiltered, each.unfiltered)) === at)
    .map(({ unfiltered }) => unfiltered);

/** Whether the response is the same, including filtered entries. */
function isSameAnswer(a: CachedList, b: CachedList): boolean {
  const isUnfiltered = showsAll(a) && showsAll(b);
  return (
    a.list === b.list &&
    a.hasTtl === b.hasTtl &&
    a.freshness.ttlMs === b.freshness.ttlMs &&
    a.freshness.scope === b.freshness.scope &&
    isSame(a.malformed, b.malformed) &&
    (isUnfiltered || areSameEntries(a.unfiltered, b.unfiltered))
  );
}

function newConnectionLists(listScope: ListScope, client: Client | undefined): ConnectionLists {
  return { listScope, client, lists: new Map(), openedAt: Number.NEGATIVE_INFINITY, wantsSignIn: false };
}
