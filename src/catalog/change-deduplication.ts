/** Tells a change of a server's list from the same change heard once more, for somebody else. */
import type { ListKind } from "../core/lists.js";

/** How long (ms) after it was heard first a change may still be on its way to others. */
const WINDOW_MS = 10_000;

interface RecentChange {
  /** By the monotonic clock. */
  readonly since: number;
  /** Who has heard it. */
  readonly listeners: WeakSet<object>;
}

/**
 * A server says once that its list is another one now, and then each audience hears its own list anew. Whoever
 * hears a change for the first time hears the one that others heard just now; whoever hears a second one hears
 * news.
 */
export class ChangeDeduplicator {
  readonly #recent = new Map<ListKind, RecentChange>();

  /** Takes note that `listener` heard a change of `kind`; whether that is news. */
  isNew(kind: ListKind, listener: object): boolean {
    const now = performance.now();
    const wave = this.#recent.get(kind);
    if (wave !== undefined && now - wave.since < WINDOW_MS && !wave.listeners.has(listener)) {
      wave.listeners.add(listener);
      return false;
    }
    this.#recent.set(kind, { since: now, listeners: new WeakSet([listener]) });
    return true;
  }
}
