/** How long is a text as a JSON string? Budgets count what a host receives. */
import { writeJson } from "../../../wire/json-text.js";

/** Its length in characters, without quotes. */
export const escapedLength = (text: string): number => writeJson(text).length - 2;

/** The longest escape of one character: `\u0001`. */
const LONGEST_ESCAPE = 6;

/** How many characters from `start` on fit into `most` characters of a JSON string; a surrogate pair is not split. At least 1. */
export function fittingLength(text: string, start: number, end: number, most: number): number {
  if ((end - start) * LONGEST_ESCAPE <= most) return end - start;
  // A character takes one at least.
  let length = Math.min(end - start, most);
  while (length > 1) {
    const over = escapedLength(text.slice(start, start + length)) - most;
    if (over <= 0) break;
    // Each character that goes takes six at most with it.
    length = Math.max(1, length - Math.ceil(over / LONGEST_ESCAPE));
  }
  const last = text.charCodeAt(start + length - 1);
  const splitsPair = last >= 0xd800 && last < 0xdc00 && start + length < end;
  if (!splitsPair) return length;
  return length > 1 ? length - 1 : 2;
}

/** The beginning of `text` that fits into `most` characters of a JSON string; an ellipsis stands for the rest. */
export function clipped(text: string, most: number): string {
  if (text.length <= most && escapedLength(text) <= most) return text;
  return most < 2 ? "" : `${text.slice(0, fittingLength(text, 0, text.length, most - 1))}…`;
}
