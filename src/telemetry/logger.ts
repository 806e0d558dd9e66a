/** The log: JSON lines on stderr, or readable ones where stderr is a terminal; never a secret, never a raw escape. */
import { destination, pino } from "pino";
import type { Logger } from "../core/logger.js";
import { escapeHidden } from "./escape.js";
import { formatLogLine, type LogLine, wantsColour } from "./log-format.js";
import { Redactor } from "./redact.js";

const LOGGER_LEVELS = ["error", "warn", "info", "debug", "silent"] as const;
export type LoggerLevel = (typeof LOGGER_LEVELS)[number];

export interface LoggerOptions {
  /** The least important level that is written; default: `CARDEA_LOG_LEVEL`, else `info`. */
  readonly level?: LoggerLevel;
  /** Takes whole lines; see `stderrWriter`. */
  readonly write: (text: string) => void;
  /** Readable lines instead of JSON; default: whether stderr is a terminal. */
  readonly terminal?: boolean;
  /** Knows the secret values; give it those of the config. */
  readonly redactor?: Redactor;
  /** Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Opens the log.
 *
 * @throws RangeError when `CARDEA_LOG_LEVEL` is no level.
 */
export function createLogger(options: LoggerOptions): Logger {
  const env = options.env ?? process.env;
  const terminal = options.terminal ?? process.stderr.isTTY === true;
  const colour = wantsColour(terminal, env);
  const redactor = options.redactor ?? new Redactor();
  const { write } = options;

  const out = pino(
    {
      level: options.level ?? readLevel(env.CARDEA_LOG_LEVEL),
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      // Errors arrive here as plain objects already.
      serializers: {},
    },
    {
      write: (line: string) =>
        write(`${terminal ? formatForTerminal(line, colour) : escapeHidden(line.trimEnd())}\n`),
    },
  );

  const logAt =
    (level: Exclude<LoggerLevel, "silent">): Logger["info"] =>
    (fields, sentence) => {
      if (out.isLevelEnabled(level)) out[level](redactor.fields(fields), redactor.text(sentence));
    };
  const skipsDebug = !out.isLevelEnabled("debug");
  return {
    error: logAt("error"),
    warn: logAt("warn"),
    info: logAt("info"),
    debug: logAt("debug"),
    skipsDebug,
  };
}

/** @throws RangeError when the text is no level. */
export function readLevel(text: string | undefined): LoggerLevel {
  if (text === undefined || text === "") return "info";
  const level = LOGGER_LEVELS.find((known) => known === text.toLowerCase());
  if (level === undefined) {
    throw new RangeError(`CARDEA_LOG_LEVEL must be one of ${LOGGER_LEVELS.join(", ")}`);
  }
  return level;
}

const formatForTerminal = (line: string, colour: boolean): string =>
  formatLogLine(JSON.parse(line) as LogLine, colour);

/** What a pipe takes as a whole (PIPE_BUF): lines of several workers that share one do not get into each other. */
const MAX_WRITE_BYTES = 4096;

export interface StderrWriter {
  readonly write: (text: string) => void;
  /** Resolves when everything has been handed to the kernel. */
  readonly flushed: () => Promise<void>;
}

/**
 * Writes to stderr in the background: while one write is under way the next lines collect, so a busy log costs few
 * writes and a reader that has stopped reading blocks nobody. Wait for `written` before the process exits: what is
 * under way then comes after what is flushed.
 */
export function stderrWriter(): StderrWriter {
  const stderr = destination({ dest: 2, sync: false, maxWrite: MAX_WRITE_BYTES });
  let idle = true;
  stderr.on("drain", () => {
    idle = true;
  });
  return {
    write(text) {
      idle = false;
      stderr.write(text);
    },
    flushed: () => (idle ? Promise.resolve() : new Promise((resolve) => stderr.once("drain", resolve))),
  };
}
