/**
 * Which list of one server each audience sees.
 *
 * A connection that has listed sees its own list. Before that its class is the forecast: clients of equal
 * capabilities mostly get equal lists. Where even the class is new, the shared list stands in.
 */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Freshness } from "../core/call.js";
import { type Client, extentOfClient } from "../core/client.js";
import type { Malformed } from "../core/list-entries.js";
import { type Audience, EVERYBODY, LIST_KINDS, type ListKind } from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";

/** A list as it was heard; equal lists of one server are one `KnownList`, whoever they were heard for. */
export interface KnownList {
  /** Unique in this process; equal ids mean equal lists. */
  readonly id: number;
  readonly items: readonly JsonObject[];
}

/** A known list with the time it was heard. */
export interface HeldList {
  readonly list: KnownList;
  /** All that the server gave, before filters took some away. */
  readonly given: readonly JsonObject[];
  /** Entries that the server gave and that hosts cannot read; they are in neither. */
  readonly malformed: readonly Malformed[];
  readonly freshness: Freshness;
  /** Whether the server says itself how long. */
  readonly isTimed: boolean;
  /** By the monotonic clock, in milliseconds. */
  readonly heardAt: number;
  /** Something says that it may have changed since, and it could not be heard anew. */
  readonly stale: boolean;
}

/** What is known of one connection's lists. */
export interface Listener {
  readonly audience: Audience;
  /** On whose behalf its lists are asked for; nobody's for the shared connection. */
  readonly client: Client | undefined;
  readonly lists: Map<ListKind, HeldList>;
  openedAt: number;
}

interface ClassLists {
  readonly lists: Map<ListKind, HeldList>;
  /** A connection of the class sees another list by now, so the next one had better look for itself. */
  doubtful: boolean;
}

/**
 * Servers that list by the client's capabilities often announce the full list just after opening. Until then
 * a change belongs to the class; later it is one connection's own affair.
 */
const OPENING_MS = 5_000;

/** Listeners are kept up to 2,000, and what their clients say of themselves up to 16 Mi characters. */
const LISTENERS_CHARACTERS = 16 * 1024 * 1024;
const LEAST_CHARACTERS = Math.ceil(LISTENERS_CHARACTERS / 2_000);

export class AudienceLists {
  readonly shared: Listener = newListener(EVERYBODY, undefined);
  readonly #listeners = new LRUCache<string, Listener>({
    maxSize: LISTENERS_CHARACTERS,
    sizeCalculation: ({ client }) => LEAST_CHARACTERS + (client === undefined ? 0 : extentOfClient(client)),
    dispose: ({ client }, key) => {
      if (client !== undefined && this.#keys.get(client.affinity) === key) this.#keys.delete(client.affinity);
    },
  });
  /** The audience key of each affinity that has a connection of its own. */
  readonly #keys = new Map<string, string>();
  readonly #classes = new LRUCache<string, ClassLists>({ max: 200 });
  /** By their digest, as long as somebody holds them. */
  readonly #known = new LRUCache<string, WeakRef<KnownList>>({ max: 500 });

  /** The listener of `audience`, if it was met. */
  find(audience: Audience): Listener | undefined {
    return audience.key === EVERYBODY.key ? this.shared : this.#listeners.get(audience.key);
  }

  /** The listener of `audience`; met now when it was not. */
  meet(audience: Audience, client: Client): Listener {
    const met = this.find(audience);
    if (met !== undefined) return met;
    const listener = newListener(audience, client);
    this.#listeners.set(audience.key, listener);
    // Where one connection serves a whole class, its lists outlive whoever asked for them first.
    if (audience.key !== audience.class) this.#keys.set(client.affinity, audience.key);
    return listener;
  }

  /** What `audience` sees; undefined when nothing was heard of that list yet. */
  read(audience: Audience, kind: ListKind): HeldList | undefined {
    if (audience.key === EVERYBODY.key) return this.shared.lists.get(kind);
    return (
      this.#listeners.get(audience.key)?.lists.get(kind) ??
      this.#classes.get(audience.class)?.lists.get(kind) ??
      this.shared.lists.get(kind)
    );
  }

  /** Whether the lists of `audience` can be told well enough without asking on its own connection. */
  canTell(audience: Audience): boolean {
    if (audience.class === EVERYBODY.class || this.#isWhole(this.find(audience)?.lists)) return true;
    const known = this.#classes.get(audience.class);
    return known !== undefined && !known.doubtful && this.#isWhole(known.lists);
  }

  /** Takes in what `listener` heard. Returns the list it had before, if any, and the one it has now. */
  take(
    listener: Listener,
    kind: ListKind,
    heard: {
      readonly shown: readonly JsonObject[];
      readonly given: readonly JsonObject[];
      readonly malformed: readonly Malformed[];
      readonly freshness: Freshness;
      readonly isTimed: boolean;
    },
  ): { readonly before: KnownList | undefined; readonly now: KnownList } {
    const before = this.read(listener.audience, kind)?.list;
    const heardAt = performance.now();
    const { shown, ...rest } = heard;
    const held: HeldList = { list: this.#intern(kind, shown), ...rest, heardAt, stale: false };
    listener.lists.set(kind, held);
    if (listener !== this.shared) this.#takeForClass(listener, kind, held);
    // What changed for everybody has most likely changed for each class too.
    else if (before !== held.list) for (const known of this.#classes.values()) known.doubtful = true;
    return { before, now: held.list };
  }

  /** The lists of a class may have changed, and there is no connection of it to ask on. */
  doubt(audience: Audience): void {
    const known = this.#classes.get(audience.class);
    if (known !== undefined) known.doubtful = true;
  }

  /** `kind` of `listener` may have changed and could not be heard anew. */
  makeStale(listener: Listener, kind: ListKind): void {
    const held = listener.lists.get(kind);
    if (held !== undefined && !held.stale) listener.lists.set(kind, { ...held, stale: true });
  }

  /** Every list of every audience may have changed. */
  makeAllStale(): void {
    for (const listener of this.all()) {
      for (const kind of LIST_KINDS) this.makeStale(listener, kind);
    }
  }

  /** Drops what was kept for one affinity. Returns the listener that is gone, if there was one. */
  forget(affinity: string): Listener | undefined {
    const key = this.#keys.get(affinity);
    if (key === undefined) return undefined;
    const gone = this.#listeners.get(key);
    this.#listeners.delete(key);
    return gone;
  }

  /** Takes over all that `before` knew of the same server, whose filters may have been others. */
  inherit(
    before: AudienceLists,
    shown: (kind: ListKind, given: readonly JsonObject[]) => readonly JsonObject[],
  ): void {
    const heirs = new Map<KnownList, KnownList>();
    const takeOver = (from: ReadonlyMap<ListKind, HeldList>, to: Map<ListKind, HeldList>) => {
      for (const [kind, held] of from) {
        const list = heirs.get(held.list) ?? this.#intern(kind, shown(kind, held.given));
        heirs.set(held.list, list);
        to.set(kind, { ...held, list });
      }
    };
    takeOver(before.shared.lists, this.shared.lists);
    // From the one that was used least lately, so that the order of use stays.
    for (const key of before.#listeners.rkeys()) {
      const listener = before.#listeners.peek(key);
      if (listener?.client === undefined) continue;
      const heir = this.meet(listener.audience, listener.client);
      heir.openedAt = listener.openedAt;
      takeOver(listener.lists, heir.lists);
    }
    for (const name of before.#classes.rkeys()) {
      const known = before.#classes.peek(name);
      if (known === undefined) continue;
      const heir: ClassLists = { lists: new Map(), doubtful: known.doubtful };
      takeOver(known.lists, heir.lists);
      this.#classes.set(name, heir);
    }
  }

  /** Everybody whose lists are kept apart. */
  all(): readonly Listener[] {
    return [this.shared, ...this.#listeners.values()];
  }

  /** How many connections of their own were met. */
  get size(): number {
    return this.#listeners.size;
  }

  #takeForClass(listener: Listener, kind: ListKind, held: HeldList): void {
    const { class: name } = listener.audience;
    const known = this.#classes.get(name) ?? { lists: new Map<ListKind, HeldList>(), doubtful: false };
    this.#classes.set(name, known);
    const forecast = known.lists.get(kind);
    const opening = held.heardAt - listener.openedAt < OPENING_MS;
    if (forecast === undefined || opening || forecast.list === held.list) {
      known.lists.set(kind, held);
      if (opening) known.doubtful = false;
    } else {
      known.doubtful = true;
    }
  }

  #isWhole(lists: ReadonlyMap<ListKind, HeldList> | undefined): boolean {
    return lists !== undefined && LIST_KINDS.every((kind) => lists.has(kind));
  }

  #intern(kind: ListKind, items: readonly JsonObject[]): KnownList {
    const digest = `${kind}:${createHash("sha256").update(writeJson(items)).digest("base64")}`;
    const known = this.#known.get(digest)?.deref();
    if (known !== undefined) return known;
    const list: KnownList = { id: ++lists, items };
    this.#known.set(digest, new WeakRef(list));
    return list;
  }
}

let lists = 0;

function newListener(audience: Audience, client: Client | undefined): Listener {
  return { audience, client, lists: new Map(), openedAt: Number.NEGATIVE_INFINITY };
}
