/** `cardea tail`: prints calls of the running gateway, each when it ends. */

import { closest } from "../config/closest.js";
import { ERRORS, GatewayError } from "../core/errors.js";
import { isObject, type JsonObject, objectAt, stringAt } from "../wire/json.js";
import { parseJson, writeJson } from "../wire/json-text.js";
import type { CommandContext } from "./command-context.js";
import { EXIT, UsageError } from "./exit.js";
import { type ConfigFlags, type GatewayFlags, type JsonFlag, textFlag, wantsJson } from "./flags.js";
import { followEvents } from "./follow-events.js";
import { findGateway, rowsOf } from "./running-gateway.js";
import { msOf } from "./status.js";
import { widthOf } from "./table.js";
import { type Paint, painter, writePainted } from "./terminal.js";
import { firstLine, terminalSafe } from "./terminal-safe.js";

type Environment = CommandContext["env"];

/** The filter. */
export interface TailFlags {
  readonly principal?: string;
  readonly server?: string;
  readonly tool?: string;
  readonly outcome?: string;
  /** The number of past calls to print first. */
  readonly lines?: string;
}

const MAX_LINES = 1000;
const DEFAULT_LINES = 10;

/** Prints past calls, then each new one until a signal. @returns the exit code */
export async function tail(
  flags: ConfigFlags & JsonFlag & GatewayFlags & TailFlags,
  shell: CommandContext,
): Promise<number> {
  const json = wantsJson(flags, shell.env);
  const lines = linesOf(flags, shell.env);
  const query = filterOf(flags, shell.env);
  const log = await shell.openLog();
  const address = await findGateway(flags, shell, log);
  if (address === undefined) return EXIT.unavailable;
  const paint = painter(shell.stdout, shell.env);
  let written = Promise.resolve();
  const print = (row: JsonObject): void => {
    const text = json
      ? `${terminalSafe(writeJson(row))}\n`
      : lineOf(row, paint, widthOf(shell.stdout) ?? Number.POSITIVE_INFINITY);
    written = written.then(() => writePainted(shell.stdout, text));
  };
  const stop = new AbortController();
  const interrupted = shell.signals.next().then(() => stop.abort());
  try {
    // The stream is opened before past calls are requested, so that none is missed.
    let early: JsonObject[] | undefined = [];
    const following = followEvents(address, `calls/stream?${query}`, stop.signal, (name, data) => {
      const value = parseJson(data);
      if (!isObject(value)) return;
      if (name === "call" && early !== undefined) early.push(value);
      else if (name === "call") print(value);
      else if (name === "lost")
        log.warn(value, `${String(value.lost)} calls are not shown: the output is too slow`);
    });
    following.catch(() => {}); // it is awaited below
    const last =
      lines === 0 ? [] : await rowsOf(address, `calls?${query}${query === "" ? "" : "&"}limit=${lines}`);
    for (const row of last.toReversed()) print(row);
    const shown = new Set(last.map(keyOf));
    for (const row of early) if (!shown.has(keyOf(row))) print(row);
    early = undefined;
    await Promise.race([following, interrupted]);
    await written;
    if (stop.signal.aborted) return EXIT.done;
    log.error({}, "the gateway has ended the stream");
    return EXIT.unavailable;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.error({ code: error.code }, error.message);
    return error.code === "upstream_unavailable" ? EXIT.unavailable : EXIT.failed;
  } finally {
    stop.abort();
  }
}

/** Each worker numbers its calls from 1. */
const keyOf = ({ id, worker }: JsonObject): string => `${String(worker)} ${String(id)}`;

function linesOf(flags: TailFlags, env: Environment): number {
  const { text, source } = textFlag(flags.lines, "lines", env);
  if (text === undefined) return DEFAULT_LINES;
  const lines = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(lines <= MAX_LINES)) throw new UsageError(`${source} must be a whole number from 0 to ${MAX_LINES}`);
  return lines;
}

const FILTERS = ["principal", "server", "tool", "outcome"] as const;

/** The filter as a query. */
function filterOf(flags: TailFlags, env: Environment): string {
  const given = FILTERS.flatMap((name) => {
    const { text, source } = textFlag(flags[name], name, env);
    if (name === "outcome" && text !== undefined && !OUTCOMES.includes(text))
      throw unknownOutcome(text, source);
    return text === undefined ? [] : [[name, text] as [string, string]];
  });
  return new URLSearchParams(given).toString();
}

const OUTCOMES: readonly string[] = ["ok", "tool_error", "input_required", ...Object.keys(ERRORS)];

function unknownOutcome(word: string, source: string): UsageError {
  const near = closest(word, OUTCOMES);
  const hint = near === undefined ? `it is one of ${OUTCOMES.join(", ")}` : `did you mean ${near}?`;
  return new UsageError(`${source}: no call ends in ${JSON.stringify(word)}; ${hint}`);
}

const QUIET: ReadonlySet<string> = new Set(["ok", "input_required"]);

/** One word of a line. The lower its rank, the sooner it is left out of a narrow terminal. */
interface Word {
  readonly text: string;
  readonly colour?: Parameters<Paint>[0];
  readonly rank: number;
}

/** At most `width` characters: the outcome and the target, and what else there is room for. */
function lineOf(row: JsonObject, paint: Paint, width: number): string {
  const ms = objectAt(row, "ms") ?? {};
  const outcome = String(row.outcome);
  const what = row.target === "" ? String(row.method) : String(row.target);
  const parts = (["queue", "policy", "upstream", "input"] as const)
    .filter((part) => Number(ms[part]) >= 0.1)
    .map((part) => `${part} ${msOf(ms[part])}`);
  const rule = stringAt(row, "rule");
  const who = [String(row.principal), String(row.host)].filter((word) => word !== "").join(" from ");
  const words: readonly Word[] = [
    { text: new Date(Number(row.at)).toISOString().slice(11, 23), colour: "dim", rank: 4 },
    { text: msOf(ms.total).padStart(9), rank: 5 },
    { text: outcome.padEnd(8), colour: QUIET.has(outcome) ? "green" : "red", rank: 7 },
    { text: rule === undefined ? "" : `(${rule})`, rank: 3 },
    { text: what, colour: "bold", rank: 6 },
    { text: who, colour: "dim", rank: 1 },
    { text: parts.join(", "), colour: "dim", rank: 2 },
  ];
  let left = width;
  const shown = new Map<Word, string>();
  for (const word of words.filter(({ text }) => text !== "").sort((a, b) => b.rank - a.rank)) {
    const isNeeded = word.rank > 5;
    if (left < 1 || (!isNeeded && terminalSafe(word.text).length > left)) continue;
    const text = terminalSafe(word.text).length > left ? firstLine(word.text, left) : word.text;
    shown.set(word, text);
    left -= terminalSafe(text).length + 2;
  }
  const line = words.flatMap((word) => {
    const text = shown.get(word);
    if (text === undefined) return [];
    return [word.colour === undefined ? terminalSafe(text) : paint(word.colour, text)];
  });
  return `${line.join("  ").trimEnd()}\n`;
}
