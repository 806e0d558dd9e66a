/** A part of a text of a server that is safe to print. */
import { escapeHidden } from "../../telemetry/log-format.js";

/** The longest excerpt, and what of it stands before what was found (UTF-16 code units). */
const LONGEST = 160;
const BEFORE = 24;

/** What stands from `start` to `end`, with a few characters around it; invisible characters are written as escapes. */
export function excerptOf(text: string, start: number, end: number): string {
  const from = evenStart(text, Math.max(0, start - BEFORE));
  const to = evenStart(text, Math.min(text.length, Math.max(end + BEFORE, from), from + LONGEST));
  const line = escapeHidden(
    text
      .slice(from, to)
      .replace(/[ \t\r\n]+/g, " ")
      .trim(),
  );
  return `${from > 0 ? "…" : ""}${line.slice(0, 2 * LONGEST)}${to < text.length ? "…" : ""}`;
}

/** Not inside a surrogate pair. */
const evenStart = (text: string, at: number): number =>
  at > 0 && (text.charCodeAt(at) & 0xfc00) === 0xdc00 ? at - 1 : at;
