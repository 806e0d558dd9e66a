/** When do replicas load a list again because another one has loaded it? And which changes does this one tell them? */
import type { ListKind } from "../core/lists.js";
import type { Upstream } from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import type { ListRefresh } from "./list-refresh.js";
import type { ScopedLists } from "./scoped-lists.js";
import type { ListHints } from "./server-lists-options.js";

/** The hints about the lists of the shared connection of one server. */
export class ReplicaHints {
  readonly #hints: ListHints | undefined;
  readonly #unfollow: (() => void) | undefined;
  /** The lists that are loaded because of a hint. */
  readonly #hinted = new Set<ListKind>();

  /** @param hints undefined where there are no other replicas */
  constructor(
    hints: ListHints | undefined,
    server: { readonly upstream: Upstream; readonly lists: ScopedLists; readonly refresh: ListRefresh },
  ) {
    this.#hints = hints;
    this.#unfollow = hints?.onListChanged((kind, isSame) => {
      const { upstream, lists, refresh } = server;
      const held = lists.shared.lists.get(kind);
      const isOpen = upstream.isOpenFor?.(undefined) ?? upstream.state === "ready";
      // A list that was never loaded, or whose connection is not open, is loaded anyway before it is shown as current.
      if (held === undefined || !isOpen || isSame(held.unfiltered)) return;
      this.#hinted.add(kind);
      refresh.schedule(lists.shared, [kind]);
    });
  }

  /** The connection was opened: all lists are loaded. */
  clear(): void {
    this.#hinted.clear();
  }

  /** A list was loaded, and has these entries. */
  loaded(kind: ListKind, items: readonly JsonObject[], hasChanged: boolean): void {
    // What was loaded for a hint is no news: two replicas whose server gives each another list would tell each other for ever.
    const isHinted = this.#hinted.delete(kind);
    if (hasChanged && !isHinted) this.#hints?.listChanged(kind, items);
  }

  close(): void {
    this.#unfollow?.();
  }
}
