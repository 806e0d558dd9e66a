/** Which lists are older than they should be when a client is about to see them, and how do they become current? */
import type { Client } from "../core/client.js";
import { inBackground, type Logger } from "../core/logger.js";
import type { ListScope, ServerFacts, Upstream } from "../core/upstream.js";
import { expiredLists } from "./list-capabilities.js";
import type { ListRefresh } from "./list-refresh.js";
import type { ScopedLists } from "./scoped-lists.js";

/** How long (ms) a server on demand whose lists could not be read is left alone before the next list starts it again. */
const RELEARN_AFTER_MS = 60_000;

/** The lists of one server, and how they are loaded. */
export interface ExpirySettings {
  readonly upstream: Upstream;
  readonly lists: ScopedLists;
  readonly refresh: ListRefresh;
  readonly logger: Logger;
  /** What the server last said of itself; to clients like this one, if there is one. */
  readonly factsOf: (client: Client | undefined) => ServerFacts | undefined;
  /** Whether a list that the server offers could not be read. */
  readonly lacksList: () => boolean;
}

/** Refreshes lists in the background. */
export class ListExpiry {
  readonly #settings: ExpirySettings;
  /** When the shared connection was last opened for lists, by `performance.now()`. */
  #openedAt = Number.NEGATIVE_INFINITY;

  constructor(settings: ExpirySettings) {
    this.#settings = settings;
  }

  /** The shared connection is open, and all lists are being loaded. */
  opened(): void {
    this.#openedAt = performance.now();
  }

  /** Refreshes what clients of `listScope` are about to be shown and what is older than it should be. */
  refresh(listScope: ListScope): void {
    const { upstream, lists: all, refresh, factsOf } = this.#settings;
    const connection = all.find(listScope) ?? all.shared;
    this.#learnAgain();
    const { client, lists } = connection;
    // Nothing is started for a refresh: the next start loads all lists.
    const isOpen = upstream.isOpenFor?.(client) ?? upstream.state === "ready";
    if (!isOpen || refresh.isBusy(connection)) return;
    const old = expiredLists(lists, factsOf(client), performance.now());
    if (old.length > 0) refresh.schedule(connection, old);
  }

  /** Starts an idle server again that could not list at its last start, of this run or the one before. */
  #learnAgain(): void {
    const { upstream, lacksList, logger } = this.#settings;
    const now = performance.now();
    const isDue = now - this.#openedAt >= RELEARN_AFTER_MS;
    if (upstream.state !== "idle" || !lacksList() || !isDue) return;
    this.#openedAt = now;
    const connected = upstream.connectNow?.() ?? Promise.resolve();
    inBackground(connected, logger, "starting a server for its lists");
  }
}
