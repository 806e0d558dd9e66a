/** How loud a server's log must be on one connection, so that every call hears what it wants and none hears less. */
import { LOG_LEVELS, type LogLevel } from "../../core/call.js";

export class ConnectionLogLevel {
  #rank = Number.POSITIVE_INFINITY;
  /** Somebody calls who named no level, and so hears whatever the server sends by itself. */
  #unfiltered = false;

  /**
   * The level to set before a call that wants `level` is made; undefined when the log is loud enough. It is never
   * set lower again: calls that want less are spared by a filter. A session without a level must not hear less
   * because another named one; most servers send such a session everything, so everything it is.
   */
  raise(level: LogLevel | undefined, session: boolean): LogLevel | undefined {
    if (level === undefined && session) this.#unfiltered = true;
    const untouched = this.#rank === Number.POSITIVE_INFINITY;
    if (level === undefined && (untouched || !session)) return undefined;
    const wanted = this.#unfiltered ? LOG_LEVELS[0] : level;
    const rank = wanted === undefined ? this.#rank : LOG_LEVELS.indexOf(wanted);
    if (rank >= this.#rank) return undefined;
    this.#rank = rank;
    return wanted;
  }

  /** The level that a new session must be told; undefined when none was ever set. */
  get current(): LogLevel | undefined {
    return LOG_LEVELS[this.#rank];
  }
}
