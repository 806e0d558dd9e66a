/** What does a log line consist of? Fields for machines and one sentence. */

/** Fields of a line; `error` may be an Error. The log redacts secrets; arguments of calls must not be passed in. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The log, by level. */
export interface Logger {
  /** A failure that needs an operator. */
  error(fields: LogFields, sentence: string): void;
  /** A failure that the gateway works around. */
  warn(fields: LogFields, sentence: string): void;
  /** A rare event of normal operation that an operator wants to see. */
  info(fields: LogFields, sentence: string): void;
  /** Everything else. */
  debug(fields: LogFields, sentence: string): void;
  /** True if `debug` writes nothing, so that callers on the hot path need not build the fields. */
  readonly skipsDebug?: boolean;
}

/** Writes nothing; for tests, and for parts that run without a log. */
export const SILENT: Logger = { error() {}, warn() {}, info() {}, debug() {} };

/** Lets `work` run on; a rejection, which only a bug can cause, is logged with `what` it was. */
export function inBackground(work: Promise<unknown>, log: Pick<Logger, "error">, what: string): void {
  work.catch((error: unknown) => log.error({ error }, `${what} failed: internal error`));
}
