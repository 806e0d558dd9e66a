/** The exit codes, which scripts and supervisors rely on, and the errors behind them. */

/** Exit codes by meaning. */
export const EXIT = {
  /** Done, or stopped after a clean drain. */
  done: 0,
  /** Failed while running. */
  failed: 1,
  /** Wrong usage. */
  usage: 2,
  /** A command that compares or scans has found something. */
  found: 3,
  /** A server marked `required` is unavailable (EX_UNAVAILABLE of sysexits.h). */
  unavailable: 69,
  /** The config is invalid (EX_CONFIG). */
  config: 78,
} as const;

/** Invalid command line; the message names it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The result of `make` for user input. @throws UsageError instead of a RangeError */
export function asUsageError<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message, { cause: error }) : error;
  }
}
