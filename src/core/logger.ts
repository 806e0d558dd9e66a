/** What every part may say to the log: a few facts and one plain sentence. */

/** Facts for machines; `error` may be an Error. Secrets are taken out by the log itself, arguments never go in. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  /** Something is broken and somebody must act. */
  error(fields: LogFields, sentence: string): void;
  /** Something is wrong, and the gateway goes on without it. */
  warn(fields: LogFields, sentence: string): void;
  /** Something an operator wants to know although all is well; rare. */
  info(fields: LogFields, sentence: string): void;
  /** Everything else. */
  debug(fields: LogFields, sentence: string): void;
  /** True where `debug` writes nothing, so that what every call would say there need not be put together. */
  readonly skipsDebug?: boolean;
}

/** Says nothing; for tests, and for parts that run without a log. */
export const SILENT: Logger = { error() {}, warn() {}, info() {}, debug() {} };

/** Lets `work` go on; `what` it is stands in the log where it fails, which only a fault of the gateway makes it. */
export function inBackground(work: Promise<unknown>, log: Pick<Logger, "error">, what: string): void {
  work.catch((error: unknown) => log.error({ error }, `${what} failed: a fault of the gateway`));
}
