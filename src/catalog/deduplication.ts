/** Deduplicates reports of list changes and malformed entries of a server. */

import type { MalformedEntry } from "../core/list-entries.js";
import type { ListKind } from "../core/lists.js";
import type { Logger } from "../core/logger.js";
import { writeJson } from "../wire/json-text.js";
import type { ConnectionLists } from "./scoped-lists.js";

/** The window (ms) in which later notifications of a change count as duplicates. */
const WINDOW_MS = 10_000;

interface RecentChange {
  /** By the monotonic clock. */
  readonly since: number;
  /** The notified scopes. */
  readonly listeners: WeakSet<object>;
}

/**
 * A server announces a change once, and then each list scope loads its own list. The first notification of a scope
 * duplicates the recent change that other scopes have reported; the second one is a new change.
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

/** A server that generates new names endlessly must not grow memory or the log without bound. */
const MAX_WARNINGS = 200;

/** The reported entries of one server, over all list scopes. */
export class MalformedEntries {
  readonly #warned = new Set<string>();

  /** Logs one warning for each unreported entry of `malformed`; at most 200 per server. */
  warn(server: string, malformed: readonly MalformedEntry[], logger: Logger): void {
    for (const one of malformed) {
      const key = keyOf(one);
      if (this.#warned.size >= MAX_WARNINGS || this.#warned.has(key)) continue;
      this.#warned.add(key);
      const { list, name, member, reason } = one;
      const which = name === undefined ? list : `${list} ${writeJson(name)}`;
      logger.warn(
        { server, list, ...(name !== undefined && { entry: name }), member, reason },
        `${server} has an invalid list entry, which is left out: ${which}: ${member} ${reason}`,
      );
    }
  }

  /** The omitted entries of all list scopes; each once. */
  static union(listeners: readonly ConnectionLists[]): readonly MalformedEntry[] {
    const all = listeners.flatMap(({ lists }) => [...lists.values()].flatMap(({ malformed }) => malformed));
    return [...new Map(all.map((one) => [keyOf(one), one])).values()];
  }
}

const keyOf = ({ list, name, member }: MalformedEntry): string => writeJson([list, name, member]);
