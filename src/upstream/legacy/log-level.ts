/** How loud a server's log is on one connection: as loud as the loudest call has ever wanted it. */
import { LOG_LEVELS, type LogLevel } from "../../core/call.js";

export class ConnectionLogLevel {
  #rank = Number.POSITIVE_INFINITY;

  /**
   * The level to set before a call that wants `level` can be made; undefined when it is loud enough. It is never
   * set lower again: calls that want less are spared by a filter, not by the server.
   */
  raise(level: LogLevel | undefined): LogLevel | undefined {
    if (level === undefined) return undefined;
    const rank = LOG_LEVELS.indexOf(level);
    if (rank >= this.#rank) return undefined;
    this.#rank = rank;
    return level;
  }

  /** The level that a new session must be told; undefined when none was ever set. */
  get current(): LogLevel | undefined {
    return LOG_LEVELS[this.#rank];
  }
}
