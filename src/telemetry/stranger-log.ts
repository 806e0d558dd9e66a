/** A log for routes that need no credentials: a bounded number of lines per interval, and the number of the others. */
import type { LogFields, Logger } from "../core/logger.js";

const INTERVAL_MS = 30_000;
const MAX_LINES = 10;

/**
 * Lines about a known `principal` are written unchanged. Of the others at info and warning, which any client can cause,
 * at most 10 are written in 30 s; the next one has the number of those that were left out.
 *
 * @param now the time in ms, for tests
 */
export function strangerLog(logger: Logger, now: () => number = () => performance.now()): Logger {
  let intervalStart = Number.NEGATIVE_INFINITY;
  let lines = 0;
  let leftOut = 0;

  const write = (level: "info" | "warn", fields: LogFields, sentence: string): void => {
    if (fields.principal !== undefined) {
      logger[level](fields, sentence);
      return;
    }
    if (now() - intervalStart >= INTERVAL_MS) {
      intervalStart = now();
      lines = 0;
    }
    lines += 1;
    if (lines > MAX_LINES) {
      leftOut += 1;
      return;
    }
    const more = leftOut === 0 ? {} : { leftOut };
    const also = leftOut === 0 ? "" : `; ${leftOut} such lines were left out before`;
    leftOut = 0;
    logger[level]({ ...fields, ...more }, `${sentence}${also}`);
  };

  return {
    error: (fields, sentence) => logger.error(fields, sentence),
    warn: (fields, sentence) => write("warn", fields, sentence),
    info: (fields, sentence) => write("info", fields, sentence),
    debug: (fields, sentence) => logger.debug(fields, sentence),
    ...(logger.skipsDebug !== undefined && { skipsDebug: logger.skipsDebug }),
  };
}
