/** Makes text from servers safe for a terminal: no control sequences, no invisible characters. */
import { escapeHidden } from "../telemetry/log-format.js";

/** Line breaks and tabs stay; every other control or invisible character is shown as an escape. */
export function terminalSafe(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .split(/([\n\t])/)
    .map((part, index) => (index % 2 === 1 ? part : escapeHidden(part)))
    .join("");
}

/** The first line, truncated to `length` characters. */
export function firstLine(text: string, length: number): string {
  const line = terminalSafe(text.trim().split(/\r?\n/, 1)[0] ?? "");
  if (line.length <= length) return line;
  // Not inside a surrogate pair.
  return `${line.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
