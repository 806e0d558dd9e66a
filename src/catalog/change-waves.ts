/** Tells a change of a server's list from the same change heard once more, for somebody else. */
import type { ListKind } from "../core/upstream.js";

/** How long (ms) after it was heard first a change may still be on its way to others. */
const WAVE_MS = 10_000;

interface Wave {
  /** By the monotonic clock. */
  readonly since: number;
  /** Who has heard it. */
  readonly heard: WeakSet<object>;
}

/**
 * A server says once that its list is another one now, and then each audience hears its own list anew. Whoever
 * hears a change for the first time hears the one that others heard just now; whoever hears a second one hears
 * news.
 */
export class ChangeWaves {
  readonly #waves = new Map<ListKind, Wave>();

  /** Takes note that `listener` heard a change of `kind`; whether that is news. */
  isNews(kind: ListKind, listener: object): boolean {
    const now = performance.now();
    const wave = this.#waves.get(kind);
    if (wave !== undefined && now - wave.since < WAVE_MS && !wave.heard.has(listener)) {
      wave.heard.add(listener);
      return false;
    }
    this.#waves.set(kind, { since: now, heard: new WeakSet([listener]) });
    return true;
  }
}
