/** Which log level does a connection need (`logging/setLevel`), so that every call gets at least its own? */
import { LOG_LEVELS, type LogLevel, severityOf } from "../../core/call.js";

/** The most verbose level that a call on the connection has needed. */
export class ConnectionLogLevel {
  #rank = Number.POSITIVE_INFINITY;
  /** A session that set no level has called; it gets the messages of all levels. */
  #unfiltered = false;

  /**
   * The level to set before a call with `level`; undefined when the current one is verbose enough. The level never
   * gets less verbose: messages below the level of a call are filtered. A session without a level must not get fewer
   * messages because another client set one; most servers send such a session all messages, so all are requested.
   */
  raise(level: LogLevel | undefined, session: boolean): LogLevel | undefined {
    if (level === undefined && session) this.#unfiltered = true;
    const untouched = this.#rank === Number.POSITIVE_INFINITY;
    if (level === undefined && (untouched || !session)) return undefined;
    const wanted = this.#unfiltered ? LOG_LEVELS[0] : level;
    const rank = wanted === undefined ? this.#rank : severityOf(wanted);
    if (rank >= this.#rank) return undefined;
    this.#rank = rank;
    return wanted;
  }

  /** The level to set in a new session; undefined when none was set. */
  get current(): LogLevel | undefined {
    return LOG_LEVELS[this.#rank];
  }
}
