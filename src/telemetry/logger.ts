/** How are log lines written? As JSON to stderr, or readable on a terminal; redacted, and with escapes escaped. */
import { destination, pino } from "pino";
import type { Logger } from "../core/logger.js";
import { escapeHidden, formatLogLine, type LogLine, wantsColour } from "./log-format.js";
import { Redactor } from "./redact.js";

const LOGGER_LEVELS = ["error", "warn", "info", "debug", "silent"] as const;
/** A value of `CARDEA_LOG_LEVEL`. */
export type LoggerLevel = (typeof LOGGER_LEVELS)[number];

/** Where the log goes, and in which form. */
export interface LoggerOptions {
  /** The lowest level that is written; default: `CARDEA_LOG_LEVEL`, else `info`. */
  readonly level?: LoggerLevel;
  /** Receives whole lines; see `stderrWriter`. */
  readonly write: (text: string) => void;
  /** Readable lines instead of JSON; default: `CARDEA_LOG_FORMAT`, else whether stderr is a terminal. */
  readonly terminal?: boolean;
  /** Add the secrets of the config to it. */
  readonly redactor?: Redactor;
  /** Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Creates the logger.
 *
 * @throws RangeError when `CARDEA_LOG_LEVEL` or `CARDEA_LOG_FORMAT` is invalid.
 */
export function createLogger(options: LoggerOptions): Logger {
  const env = options.env ?? process.env;
  const isTerminal = options.terminal ?? process.stderr.isTTY === true;
  const readable = isReadable(env.CARDEA_LOG_FORMAT) ?? isTerminal;
  const colour = wantsColour(isTerminal, env);
  const redactor = options.redactor ?? new Redactor();
  const { write } = options;

  const out = pino(
    {
      level: options.level ?? readLevel(env.CARDEA_LOG_LEVEL),
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      // The redactor has turned errors into plain objects.
      serializers: {},
    },
    {
      write: (line: string) =>
        write(`${readable ? formatForTerminal(line, colour) : escapeHidden(line.trimEnd())}\n`),
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

/** Parses a log level; default `info`. @throws RangeError when it is invalid */
export function readLevel(text: string | undefined): LoggerLevel {
  if (text === undefined || text === "") return "info";
  const level = LOGGER_LEVELS.find((known) => known === text.toLowerCase());
  if (level === undefined) {
    throw new RangeError(`CARDEA_LOG_LEVEL must be one of ${LOGGER_LEVELS.join(", ")}`);
  }
  return level;
}

/** Undefined where the format follows from stderr. @throws RangeError when it is invalid */
function isReadable(format: string | undefined): boolean | undefined {
  if (format === undefined || format === "") return undefined;
  if (format === "text" || format === "json") return format === "text";
  throw new RangeError("CARDEA_LOG_FORMAT must be text or json");
}

const formatForTerminal = (line: string, colour: boolean): string =>
  formatLogLine(JSON.parse(line) as LogLine, colour);

/** PIPE_BUF: writes up to it are atomic, so lines of workers that share a pipe do not mix. */
const MAX_WRITE_BYTES = 4096;

/** Asynchronous writes to stderr. */
export interface StderrWriter {
  readonly write: (text: string) => void;
  /** Resolves when everything was written to the file descriptor. */
  readonly flushed: () => Promise<void>;
}

/**
 * Writes to stderr asynchronously: lines are buffered while a write is pending, so a busy log needs few writes and a
 * stalled reader does not block the process. Await `flushed` before the process exits.
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
