/** Warns once of each entry that is listed with a hash ending because its name is taken or belongs to another server. */
import { LISTS, type ListKind } from "../core/lists.js";
import type { Logger } from "../core/logger.js";
import { writeJson } from "../wire/json-text.js";
import { type Renamed, renamedReason } from "./merge.js";

/** A server that generates new names endlessly must not fill the log. */
const MAX_WARNINGS = 200;

/** The reported entries, including those of earlier configs. */
export class RenamedEntries {
  readonly #warned = new Set<string>();

  /** Logs one warning for the entry, unless there was one. */
  warn(kind: ListKind, renamed: Renamed, logger: Logger): void {
    const { server, name, exposed, other } = renamed;
    const key = writeJson([kind, server, name, other]);
    if (this.#warned.size >= MAX_WARNINGS || this.#warned.has(key)) return;
    this.#warned.add(key);
    const { noun } = LISTS[kind];
    logger.warn(
      { server, [noun]: name, exposed, other },
      `the ${noun} ${writeJson(name)} of server ${server} is listed as ${exposed}: ${renamedReason(renamed)}`,
    );
  }
}
