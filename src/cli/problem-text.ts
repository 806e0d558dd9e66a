/** A problem of the running gateway as lines of text: what, how long, how often, and the command that fixes it. */
import { isObject, type JsonObject, stringAt } from "../wire/json.js";
import type { Paint } from "./terminal.js";
import { terminalSafe } from "./terminal-safe.js";

const INDENT = "  ";
const COLOURS: Readonly<Record<string, "red" | "yellow" | "dim">> = { error: "red", note: "dim" };

/** A row of `/api/v1/problems`, on as many lines of `width` characters as it needs. */
export function runningProblemText(problem: JsonObject, paint: Paint, width: number): string {
  const { severity, count, figures, actions } = problem;
  const since = stringAt(problem, "since");
  const facts = [
    ...(since === undefined ? [] : [`for ${durationOf(secondsSince(since))}`]),
    // The text has the figures.
    ...(typeof count === "number" && figures === undefined ? [timesOf(count)] : []),
  ].join(", ");
  const text = terminalSafe(`${stringAt(problem, "text") ?? ""}${facts === "" ? "" : ` (${facts})`}`);
  const commands = (Array.isArray(actions) ? actions.filter(isObject) : []).flatMap(
    (action) => stringAt(action, "command") ?? [],
  );
  const advice = commands.map((command) => `    ${paint("dim", terminalSafe(command))}\n`).join("");
  // A word that is longer than a line continues on the next one.
  const longest = Math.max(1, width - INDENT.length);
  const words = text.split(" ").flatMap((word) => cutEvery(longest, word));
  const lines = wrapped(words, { width, taken: INDENT.length });
  return `${INDENT}${paint(COLOURS[String(severity)] ?? "yellow", lines)}\n${advice}`;
}

/** The pieces with spaces, on as many lines as they need; the first line begins after `taken` characters. */
export function wrapped(
  pieces: readonly string[],
  { width, taken }: { readonly width: number; readonly taken: number },
): string {
  let line = taken;
  return pieces
    .map((text, at) => {
      const isNext = at > 0 && line + 1 + text.length > width;
      line = isNext ? INDENT.length + text.length : line + (at > 0 ? 1 : 0) + text.length;
      return `${isNext ? `\n${INDENT}` : at > 0 ? " " : ""}${text}`;
    })
    .join("");
}

/** `90 s`, `5 min`, `3 h`, `4 d`. */
export function durationOf(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

const timesOf = (count: number): string => (count === 1 ? "once" : `${count} times`);

function cutEvery(length: number, word: string): readonly string[] {
  if (word.length <= length) return [word];
  return [word.slice(0, length), ...cutEvery(length, word.slice(length))];
}

const secondsSince = (time: string): number =>
  Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1_000));
