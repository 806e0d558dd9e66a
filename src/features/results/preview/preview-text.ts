/** What does a large text look like? By what it is: JSON, a page, a table, a log, or any other text. */
import { clipped, escapedLength } from "../reading/escaped.js";
import { isHtml, textOfHtml } from "../reading/html-text.js";
import { containerIn } from "../reading/json-document.js";
import { Lines } from "../reading/lines.js";
import { previewJson } from "./preview-json.js";

/** A text is classified by its first lines. */
const SAMPLE_LINES = 40;
const SAMPLE_CHARACTERS = 20_000;
/** The share of the lines of a log that say when or how severe. */
const LOG_SHARE = 0.6;
/** A smaller preview (characters) says no more than it must. */
const MIN_FOR_DETAILS = 1_000;
/** Of a text that is cut in the middle. */
const HEAD_SHARE = 0.7;

/** Where a text is in its result, and how much of it may be shown. */
export interface TextPlace {
  /** The JSON pointer with which it is read; empty for the only text of a result, which is read without one. */
  readonly path: string;
  /** The size of the preview, in characters of a JSON string. */
  readonly most: number;
  /** The longest line. */
  readonly width: number;
}

/** The preview of a text. Offsets in it are those of its pages. */
export function previewText(text: string, { path, most, width }: TextPlace): string {
  const at = path === "" ? "" : `path ${path}, `;
  const value = containerIn(text);
  if (value !== undefined) {
    const lead = path === "" ? "" : `[path ${path}]\n`;
    return lead + previewJson(value, most - escapedLength(lead));
  }
  if (isHtml(text)) {
    const source = most < MIN_FOR_DETAILS ? "" : ` (path ${path || "/content/0/text"} reads its source)`;
    const title = `The text of an HTML page of ${text.length} characters${source}:\n`;
    const page = new Lines(textOfHtml(text), width);
    return title + cutMiddle(page, most - escapedLength(title), path === "" ? "" : undefined);
  }
  const sample = text.slice(0, SAMPLE_CHARACTERS).split("\n").slice(0, SAMPLE_LINES);
  const lines = new Lines(text, width);
  if (isLog(sample) && !isNewestFirst(lines)) return lastLines(lines, text, at, most);
  const columns = columnsOf(sample);
  return columns === undefined ? cutMiddle(lines, most, at) : firstRows(lines, columns, at, most);
}

/** Head and tail, and how much is between them. @param at the place of the offsets; undefined where the text has none */
function cutMiddle(lines: Lines, most: number, at: string | undefined): string {
  const gap = (from: number, to: number): string =>
    `[… ${to - from} of ${lines.count} lines left out${at === undefined ? "" : `: ${at}offset ${from} to ${to - 1}`} …]`;
  const room = most - gap(lines.count, lines.count * 2).length - 4;
  const head = taken(lines, 0, 1, room * HEAD_SHARE);
  const tail = taken(lines, lines.count - 1, -1, room - head.size).texts.toReversed();
  const from = head.texts.length;
  const to = Math.max(from, lines.count - tail.length);
  if (to === from)
    return clipped([...head.texts, ...tail.slice(from + tail.length - lines.count)].join("\n"), most);
  return clipped([...head.texts, gap(from, to), ...tail].join("\n"), most);
}

/** The end of a log is what happened last; its errors may be before that. */
function lastLines(lines: Lines, text: string, at: string, most: number): string {
  const errors = errorsIn(lines, text, most);
  const title = (shown: number): string => {
    const from = at === "" ? "" : `: ${at}offset ${lines.count - shown} on`;
    return `[… the last ${shown} of ${lines.count} lines of a log${from}${errors} …]\n`;
  };
  const { texts } = taken(lines, lines.count - 1, -1, most - title(lines.count).length - 4);
  return clipped(title(texts.length) + texts.toReversed().join("\n"), most);
}

/** The offsets of the last lines with an error, where there is room for them. */
function errorsIn(lines: Lines, text: string, most: number): string {
  if (most < MIN_FOR_DETAILS) return "";
  const found: number[] = [];
  let count = 0;
  for (const { index } of text.matchAll(SEVERE)) {
    const line = lines.lineOf(index);
    if (line === found.at(-1)) continue;
    count += 1;
    found.push(line);
    if (found.length > MAX_ERRORS) found.shift();
  }
  if (count === 0) return "";
  const which = count > found.length ? "the last at" : "at";
  return `; ${count} with ERROR or FATAL, ${which} offset ${found.join(", ")}`;
}

function firstRows(lines: Lines, columns: string, at: string, most: number): string {
  const title = `A table of ${lines.count} lines; columns: ${clipped(columns, most / 4)}\n`;
  const rest = (shown: number): string =>
    `\n[… ${lines.count - shown} more lines, from ${at}offset ${shown} …]`;
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

/** In whole words: a line that only has `error_rate` is none. */
const SEVERE = /\b(?:ERROR|FATAL|CRITICAL|PANIC)\b/g;
/** How many of them are named. */
const MAX_ERRORS = 8;
/** A log says when or how severe at the beginning of its lines (characters). */
const LINE_HEAD = 40;

function isLog(sample: readonly string[]): boolean {
  const lines = sample.filter((line) => line.trim() !== "").map((line) => line.slice(0, LINE_HEAD));
  const marked = lines.filter((line) => TIME.test(line) || LEVEL.test(line));
  return lines.length > 4 && marked.length >= lines.length * LOG_SHARE;
}

const STAMP = /\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}/;

/** Whether its first line is later than its last one. */
function isNewestFirst(lines: Lines): boolean {
  const stampOf = (line: string): string => STAMP.exec(line.slice(0, LINE_HEAD))?.[0] ?? "";
  const [first, last] = [stampOf(lines.line(0)), stampOf(lines.line(lines.count - 1))];
  return last !== "" && first > last;
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
    const count = header.split(delimiter).length;
    if (count < 2 || rows.some((row) => row.split(delimiter).length !== count)) continue;
    const names = header.split(delimiter).map((cell) => cell.trim());
    const columns = names.filter(Boolean);
    // Lines of code end in a semicolon, too.
    if (columns.length > 1) return columns.join(", ");
  }
  return undefined;
}
