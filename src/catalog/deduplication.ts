/** Which list changes and malformed entries of a server were reported before? Each is reported once. */

import type { MalformedEntry } from "../core/list-entries.js";
import type { ListKind } from "../core/lists.js";
import type { Logger } from "../core/logger.js";
import { writeJson } from "../wire/json-text.js";
import type { ConnectionLists } from "./scoped-lists.js";

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

/** A server that makes up ever new names is not remembered for ever, nor does it fill the log. */
const MAX_WARNINGS = 200;

/** The entries of one server that were warned of, whichever audience they were listed for. */
export class MalformedEntries {
  readonly #warned = new Set<string>();

  /** Logs one warning for each of `malformed` that was not warned of yet; up to 200 for each server in all. */
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

  /** What was left out of the lists of all listeners; each entry once. */
  static union(listeners: readonly ConnectionLists[]): readonly MalformedEntry[] {
    const all = listeners.flatMap(({ lists }) => [...lists.values()].flatMap(({ malformed }) => malformed));
    return [...new Map(all.map((one) => [keyOf(one), one])).values()];
  }
}

const keyOf = ({ list, name, member }: MalformedEntry): string => writeJson([list, name, member]);
