/** What does a large JSON value look like? Its shape, with the first elements of long lists and their numbers. */
import { isObject, type JsonObject } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { clipped, escapedLength } from "../reading/escaped.js";
import { type Container, isContainer, labelKey } from "../reading/json-document.js";

/** How much is shown. */
interface Detail {
  /** Elements of a list. */
  readonly elements: number;
  /** Members of an object. */
  readonly members: number;
  /** Characters of a string. */
  readonly characters: number;
  readonly depth: number;
}

/** The most detailed first. */
const DETAILS: readonly Detail[] = [
  { elements: 80, members: 80, characters: 400, depth: 8 },
  { elements: 40, members: 80, characters: 300, depth: 8 },
  { elements: 28, members: 60, characters: 240, depth: 8 },
  { elements: 20, members: 60, characters: 200, depth: 8 },
  { elements: 14, members: 50, characters: 160, depth: 8 },
  { elements: 10, members: 40, characters: 120, depth: 8 },
  { elements: 7, members: 36, characters: 100, depth: 8 },
  { elements: 5, members: 30, characters: 80, depth: 5 },
  { elements: 3, members: 24, characters: 48, depth: 4 },
  { elements: 2, members: 16, characters: 32, depth: 3 },
  { elements: 1, members: 10, characters: 16, depth: 2 },
];

/** Levels that are tried for each detail, if it has more. */
const LESS_DEEP = [5, 4, 3] as const;
/** This many elements of each list show their scalars, at the deepest level, too. */
const SHOWN_FIRST = 2;

/** @param most the size of the preview, in characters of a JSON string */
export function previewJson(value: Container, most: number): string {
  const head = isRecords(value) ? recordsLine(value) : "";
  for (const detail of DETAILS) {
    // The breadth of a list says more than what is deep in its first elements.
    for (const depth of [detail.depth, ...LESS_DEEP.filter((level) => level < detail.depth)]) {
      const text = shape(value, { ...detail, depth }, most);
      if (text === undefined) continue;
      const whole = `${head}${text}`;
      if (whole.length <= most && escapedLength(whole) <= most) return whole;
    }
  }
  const least = DETAILS.at(-1);
  const text = least === undefined ? "" : shape(value, least, Number.POSITIVE_INFINITY);
  return clipped(`${head}${text}`, most);
}

/** How many of the first elements must be objects for a list to be one of records. */
const SEEN = 20;
const MAX_COLUMNS = 30;

function isRecords(value: Container): value is readonly JsonObject[] {
  return Array.isArray(value) && value.length > 3 && value.slice(0, SEEN).every(isObject);
}

/** Number and columns of a list of records. */
function recordsLine(records: readonly JsonObject[]): string {
  const columns = [...new Set(records.slice(0, SEEN).flatMap((record) => Object.keys(record)))];
  const named = columns.slice(0, MAX_COLUMNS).map((column) => clipped(column, 40));
  const more = columns.length > named.length ? `, and ${columns.length - named.length} more` : "";
  return `${records.length} records with ${named.join(", ")}${more}:\n`;
}

/** Undefined where it is longer than `most`. */
function shape(root: Container, detail: Detail, most: number): string | undefined {
  let left = most;
  const text = written(root, detail.depth);
  return left < 0 ? undefined : text;

  function written(value: unknown, depth: number): string {
    if (left < 0) return "";
    const text = isContainer(value) ? container(value, depth) : scalar(value, detail.characters);
    if (!isContainer(value)) left -= text.length;
    return text;
  }

  function container(value: Container, depth: number): string {
    const isList = Array.isArray(value);
    const [open, close] = isList ? ["[", "]"] : ["{", "}"];
    const keys = isList ? undefined : Object.keys(value);
    const count = keys?.length ?? (value as readonly unknown[]).length;
    if (depth === 0 && count > 0) {
      const brief = isList ? `[…${count}]` : labelled(value as JsonObject, count);
      left -= brief.length;
      return brief;
    }
    const shown = Math.min(count, isList ? detail.elements : detail.members);
    const parts: string[] = [];
    for (let at = 0; at < shown && left >= 0; at++) {
      const key = keys?.[at];
      const member = key === undefined ? (value as readonly unknown[])[at] : (value as JsonObject)[key];
      const lead = key === undefined ? "" : `${writeJson(clipped(key, 60))}: `;
      left -= lead.length + 2;
      parts.push(lead + written(member, isList && at < SHOWN_FIRST ? Math.max(1, depth - 1) : depth - 1));
    }
    const rest = count - shown;
    if (rest > 0) parts.push(`… ${rest} more`);
    const isTop = value === root && isList;
    return open + parts.join(isTop ? ",\n" : ", ") + close;
  }
}

/** An object of which only its label is shown. */
function labelled(value: JsonObject, count: number): string {
  const key = labelKey(value);
  if (key === undefined) return `{…${count}}`;
  return `{${writeJson(key)}: ${writeJson(value[key])}${count > 1 ? `, … ${count - 1} more` : ""}}`;
}

function scalar(value: unknown, characters: number): string {
  if (typeof value !== "string" || value.length <= characters) return clipped(writeJson(value), 600);
  return `${writeJson(clipped(value, characters))} (${value.length} characters)`;
}
