/** The persisted state of a server, available before it runs. */

import type { JsonObject } from "../wire/json.js";
import type { Freshness } from "./call.js";
import type { MalformedEntry } from "./list-entries.js";
import type { ListKind } from "./lists.js";

/** One list of a server, as last loaded, before filters. */
export interface PersistedList {
  readonly items: readonly JsonObject[];
  readonly malformed: readonly MalformedEntry[];
  readonly freshness: Freshness;
  readonly hasTtl: boolean;
  /** In ms since 1970. */
  readonly fetchedAt: number;
}

/** The lists of a server from an earlier run. */
export interface PersistedLists {
  /** The lists of each capability class, by kind; the most recently used class first. */
  readonly scopes: ReadonlyMap<string, ReadonlyMap<ListKind, PersistedList>>;
  /** The server failed or hung at its last start, so lists do not wait for it. */
  readonly startFailed: boolean;
}

/** The state of a server from an earlier run. */
export interface PersistedServer extends PersistedLists {
  /** The initial state of its upstream; not read by the catalog. */
  readonly memory?: JsonObject | undefined;
}

/** Stores the lists of a server between two runs of the gateway. */
export interface ListStore {
  /** The current lists; those of an earlier run until `followLists`. Undefined if there are none. */
  readonly known: PersistedLists | undefined;
  /** From now on `lists` returns the current lists. */
  followLists(lists: () => PersistedLists): void;
  /** They have changed; the store writes them soon. */
  changed(): void;
}

/** The state cached by an earlier run, and the state that this run caches. */
export interface ServerStore extends ListStore {
  readonly known: PersistedServer | undefined;
  /** From now on `memory` reads the state of its upstream. */
  followMemory(memory: () => JsonObject | undefined): void;
  /** Writes pending changes. Never rejects. */
  close(): Promise<void>;
}

/** A server without a cache. */
export const NOT_KEPT: ServerStore = {
  known: undefined,
  followMemory: () => {},
  followLists: () => {},
  changed: () => {},
  close: async () => {},
};

/** A server whose state is kept. */
export interface KeptServer {
  /** Its key in the config. */
  readonly name: string;
  /** Its start parameters, including secrets: other parameters may yield other lists. */
  readonly identity: string;
}
