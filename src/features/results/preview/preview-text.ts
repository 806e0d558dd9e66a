/** What does a large text look like? By what it is: JSON, a page, a table, a log, or any other text. */
import { clipped, escapedLength } from "../reading/escaped.js";
import { containerIn } from "../reading/json-document.js";
import { Lines } from "../reading/lines.js";
import { isHtml, textOfHtml } from "./html-text.js";
import { previewJson } from "./preview-json.js";

/** A text is classified by its first lines. */
const SAMPLE_LINES = 40;
const SAMPLE_CHARACTERS = 20_000;
/** The share of the lines of a log that say when or how severe. */
const LOG_SHARE = 0.6;
/** Of a text that is cut in the middle. */
const HEAD_SHARE = 0.7;

/**
 * @param most the size of the preview, in characters of a JSON string
 * @param width the longest line
 */
export function previewText(text: string, most: number, width: number): string {
  const value = containerIn(text);
  if (value !== undefined) return previewJson(value, most);
  if (isHtml(text)) {
    const title = `The text of an HTML page of ${text.length} characters:\n`;
    const page = new Lines(textOfHtml(text), width);
    return title + cutMiddle(page, most - escapedLength(title), false);
  }
  const sample = text.slice(0, SAMPLE_CHARACTERS).split("\n").slice(0, SAMPLE_LINES);
  const lines = new Lines(text, width);
  if (isLog(sample)) return lastLines(lines, most);
  const columns = columnsOf(sample);
  return columns === undefined ? cutMiddle(lines, most, true) : firstRows(lines, columns, most);
}

/** Head and tail, and how much is between them. */
function cutMiddle(lines: Lines, most: number, hasOffsets: boolean): string {
  const gap = (from: number, to: number): string =>
    `[… ${to - from} of ${lines.count} lines left out${hasOffsets ? `: offset ${from} to ${to - 1}` : ""} …]`;
  const room = most - gap(lines.count, lines.count * 2).length - 4;
  const head = taken(lines, 0, 1, room * HEAD_SHARE);
  const tail = taken(lines, lines.count - 1, -1, room - head.size).texts.toReversed();
  const from = head.texts.length;
  const to = Math.max(from, lines.count - tail.length);
  if (to === from)
    return clipped([...head.texts, ...tail.slice(from + tail.length - lines.count)].join("\n"), most);
  return clipped([...head.texts, gap(from, to), ...tail].join("\n"), most);
}

/** The end of a log is what happened last. */
function lastLines(lines: Lines, most: number): string {
  const title = (shown: number): string => `[… the last ${shown} of ${lines.count} lines of a log …]\n`;
  const { texts } = taken(lines, lines.count - 1, -1, most - title(lines.count).length - 4);
  return clipped(title(texts.length) + texts.toReversed().join("\n"), most);
}

function firstRows(lines: Lines, columns: string, most: number): string {
  const title = `A table of ${lines.count} lines; columns: ${clipped(columns, most / 4)}\n`;
  const rest = (shown: number): string => `\n[… ${lines.count - shown} more lines, from offset ${shown} …]`;
  const { texts } = taken(lines, 0, 1, most - escapedLength(title) - rest(lines.count).length - 4);
  return clipped(title + texts.join("\n") + rest(texts.length), most);
}

/** Lines from `start` on that fit. */
function taken(lines: Lines, start: number, step: 1 | -1, room: number): { texts: string[]; size: number } {
  const texts: string[] = [];
  let size = 0;
  for (let at = start; at >= 0 && at < lines.count; at += step) {
    const line = lines.line(at);
    const more = escapedLength(line) + 2;
    if (size + more > room) break;
    size += more;
    texts.push(line);
  }
  return { texts, size };
}

const TIME = /^\W{0,2}\d{2,4}[-/.:]\d{2}[-/.:]\d{2}|\b\d{2}:\d{2}:\d{2}\b/;
const LEVEL = /\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b/;

function isLog(sample: readonly string[]): boolean {
  const lines = sample.filter((line) => line.trim() !== "").map((line) => line.slice(0, 80));
  const marked = lines.filter((line) => TIME.test(line) || LEVEL.test(line));
  return lines.length > 4 && marked.length >= lines.length * LOG_SHARE;
}

const DELIMITERS = ["\t", "|", ";", ","] as const;
const MIN_ROWS = 5;

/** The columns of a table with a delimiter, or of JSON lines; undefined for any other text. */
function columnsOf(sample: readonly string[]): string | undefined {
  const rows = sample.slice(0, 10).filter((row) => row.trim() !== "");
  const [header = ""] = rows;
  if (rows.length < MIN_ROWS) return undefined;
  if (rows.every((row) => row.startsWith("{") && row.trimEnd().endsWith("}"))) {
    const first = containerIn(header);
    return first === undefined ? undefined : Object.keys(first).join(", ");
  }
  for (const delimiter of DELIMITERS) {
    const counts = rows.map((row) => row.split(delimiter).length);
    if (counts[0] !== undefined && counts[0] > 1 && counts.every((count) => count === counts[0]))
      return header
        .split(delimiter)
        .map((cell) => cell.trim())
        .filter(Boolean)
        .join(", ");
  }
  return undefined;
}
