/** What is known of the lists of a server before it runs? */
import type { Freshness } from "../core/call.js";
import type { MalformedEntry } from "../core/list-entries.js";
import type { ListKind } from "../core/lists.js";
import type { JsonObject } from "../wire/json.js";

/** One list of a server, as it was last loaded; before the filters of the config. */
export interface PersistedList {
  readonly items: readonly JsonObject[];
  readonly malformed: readonly MalformedEntry[];
  readonly freshness: Freshness;
  readonly hasTtl: boolean;
  /** In ms since 1970. */
  readonly fetchedAt: number;
}

/** What an earlier process knew of the lists of a server. */
export interface PersistedLists {
  /** The lists of each capability class, by kind; the most recently used class first. */
  readonly scopes: ReadonlyMap<string, ReadonlyMap<ListKind, PersistedList>>;
  /** The server failed or hung at its last start, so lists do not wait for it. */
  readonly startFailed: boolean;
}

/** What an earlier process knew of a server. */
export interface PersistedServer extends PersistedLists {
  /** What its upstream begins with; not read by the catalog. */
  readonly memory?: JsonObject | undefined;
}

/** Keeps what is known of the lists of a server between two runs of the gateway. */
export interface ListStore {
  /** What is known now; what an earlier run kept until `followLists`. Undefined where that is nothing. */
  readonly known: PersistedLists | undefined;
  /** From now on `lists` gives what is known. */
  followLists(lists: () => PersistedLists): void;
  /** That has changed, and is written in a moment. */
  changed(): void;
}
