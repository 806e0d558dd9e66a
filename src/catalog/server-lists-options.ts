/** What are the lists of one server given, and what do they show of themselves? */

import type { ListAdmission } from "../core/list-admission.js";
import type { MalformedEntry } from "../core/list-entries.js";
import type { ListKind } from "../core/lists.js";
import type { Logger } from "../core/logger.js";
import type { ListStore } from "../core/persisted-lists.js";
import type { SharedServer } from "../core/replicas.js";
import type { StopSignal } from "../core/stop.js";
import type { ListScope, Upstream } from "../core/upstream.js";
import type { ServerLists } from "./server-lists.js";
import type { ServerNamespace } from "./server-namespace.js";

/** Times in milliseconds. */
export interface RefreshTimes {
  /** How long to wait for more announcements before asking. */
  readonly settleMs: number;
  /** How long a call waits for a server that starts, or for the first lists of its class. */
  readonly callWaitMs: number;
  /** How long a list waits for them: hosts may keep the first list that they get. */
  readonly startupWaitMs: number;
  /** How long a server may take to give all pages of one list. */
  readonly listTimeoutMs: number;
  /** How long the entries of a server that is away stay in the lists. */
  readonly graceMs: number;
}

/** The server, and what is called when its lists change. */
export interface ServerListsOptions {
  readonly upstream: Upstream;
  readonly space: ServerNamespace;
  readonly times: RefreshTimes;
  readonly logger: Logger;
  /** A client may see other lists than before. */
  readonly onViewsChanged: () => void;
  /** Called once per real change of the server's list, whatever the number of list scopes that see it. */
  readonly onListChanged: (kind: ListKind) => void;
  /** Its state may have changed, as clients see it. */
  readonly onStateChanged: () => void;
  /** The shared connection is open, and the facts of the server are known. */
  readonly onOpened: () => void;
  readonly onResourceUpdated: (uri: string, listScope: ListScope | undefined) => void;
  /** What was known of the same server under an earlier config. */
  readonly before: ServerLists | undefined;
  /** Keeps what is known for the next run. Default: nothing is kept. */
  readonly store?: ListStore | undefined;
  /** What features admit of its lists. Default: all of them. */
  readonly admission?: ListAdmission | undefined;
  /** Default: there are no other replicas. */
  readonly hints?: ListHints | undefined;
}

/** What replicas tell each other of the lists of one server. */
export type ListHints = Pick<SharedServer, "listChanged" | "onListChanged">;

/** How long a client waits at most, in milliseconds, and what ends its wait before. */
export interface WaitLimit {
  readonly ms: number;
  readonly signal?: StopSignal | undefined;
}

/** What the status page shows of the lists of one server. */
export interface ServerListsStatus {
  /** Entries of each list after the server's filters, as clients that cannot be asked see them. */
  readonly counts: Readonly<Record<string, number>>;
  readonly stale: boolean;
  /** False when the server was unavailable for longer than the limit and its entries have left the lists. */
  readonly shown: boolean;
  /** Age of its oldest list; undefined before the first load. */
  readonly ageMs: number | undefined;
  /** Connections, or classes of clients, whose lists are kept apart. */
  readonly audiences: number;
  /** Entries that the server lists and that hosts cannot read, of all audiences; each once. */
  readonly malformed: readonly MalformedEntry[];
}
