/** Tells once of each list entry that was left out because hosts cannot read it. */
import type { MalformedEntry } from "../core/list-entries.js";
import type { Logger } from "../core/logger.js";
import { writeJson } from "../wire/json-text.js";
import type { ConnectionLists } from "./scoped-lists.js";

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
