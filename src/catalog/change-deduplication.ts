/**
 * Which notifications of a list change are new, and which repeat a change that another list scope has seen.
 */
import type { ListKind } from "../core/lists.js";

/** The window (ms) in which later notifications of a change count as repetitions. */
const WINDOW_MS = 10_000;

interface RecentChange {
  /** By the monotonic clock. */
  readonly since: number;
  /** The scopes that have been notified of it. */
  readonly listeners: WeakSet<object>;
}

/**
 * A server announces a change once, and then each list scope loads its own list. The first notification of a
 * scope repeats the recent change that other scopes have seen; the second one is a new change.
 */
export class ChangeDeduplicator {
  readonly #recent = new Map<ListKind, RecentChange>();

  /** Records that `listener` was notified of a change of `kind`; returns whether the change is new. */
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
