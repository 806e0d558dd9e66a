/** How is a log line shown in a terminal? Time, level, sentence, fields; in colour where supported, hidden characters escaped. */
import { HIDDEN_CHARACTERS } from "../wire/readable-text.js";

/** A parsed JSON line. */
export interface LogLine {
  readonly level: string;
  readonly time: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

const COLOUR: Readonly<Record<string, string>> = { error: "31", warn: "33", info: "36", debug: "90" };

/** Formats a line without a final line break; a stack trace follows on further lines. A field that the sentence has is not repeated. */
export function formatLogLine(line: LogLine, colour: boolean): string {
  const { level, time, msg, error, ...facts } = line;
  const paint = (text: string, code: string | undefined): string =>
    colour && code !== undefined ? `\u001b[${code}m${text}\u001b[0m` : text;
  const clock = new Date(time).toTimeString().slice(0, 8);
  const parts = [paint(clock, "90"), paint(level.toUpperCase().padEnd(5), COLOUR[level]), escapeHidden(msg)];
  for (const [key, value] of Object.entries(facts)) {
    if (isSaid(msg, value)) continue;
    parts.push(`${paint(`${escapeHidden(key)}=`, "90")}${escapeHidden(formatValue(value))}`);
  }
  const stack = stackOf(error);
  if (stack === undefined && error !== undefined) parts.push(`error=${escapeHidden(formatValue(error))}`);
  return [parts.join(" "), ...(stack ?? []).map((frame) => paint(escapeHidden(frame), "90"))].join("\n");
}

/** Whether the sentence has the value, or each of its values, as whole words. */
function isSaid(sentence: string, value: unknown): boolean {
  if (Array.isArray(value)) return value.every((one) => isSaid(sentence, one));
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || text === "") return false;
  const at = sentence.indexOf(text);
  return at !== -1 && !WORD.test(sentence[at - 1] ?? "") && !WORD.test(sentence[at + text.length] ?? "");
}
const WORD = /[\w/]/;

function stackOf(error: unknown): readonly string[] | undefined {
  if (typeof error !== "object" || error === null || !("stack" in error)) return undefined;
  if (typeof error.stack !== "string") return undefined;
  const frames = error.stack.split("\n").map((frame) => `    ${frame.trim()}`);
  const cause = "cause" in error ? stackOf(error.cause) : undefined;
  return cause === undefined ? frames : [...frames, "    caused by", ...cause];
}

const formatValue = (value: unknown): string =>
  typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);

/** Whether to use colour: not with `NO_COLOR` or `TERM=dumb`, always with `FORCE_COLOR`, else on a terminal. */
export function wantsColour(terminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== "0" && env.FORCE_COLOR !== "false";
  return terminal && env.TERM !== "dumb";
}

/** The text with every hidden character as `\uXXXX`; the text of a valid JSON string stays valid. */
export function escapeHidden(text: string): string {
  return text.replace(HIDDEN_CHARACTERS, (found) =>
    // JSON escapes characters beyond the first plane as two units.
    Array.from(
      { length: found.length },
      (_, unit) => `\\u${found.charCodeAt(unit).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}
