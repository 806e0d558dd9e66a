/** Where is a text or a pattern in a document? Each match with its place and some context, in steps. */
import { compilePattern } from "../../../patterns/re2.js";
import { type Steps, Work } from "../../../runtime/cooperative-yield.js";
import type { JsonObject } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import type { Document } from "./document.js";
import { clipped, escapedLength } from "./escaped.js";
import { type Container, extended, isContainer, keysOf, labelsAlong } from "./json-document.js";
import { Lines } from "./lines.js";
import type { Page, PageQuery } from "./page.js";

/** Later matches are not counted. */
const MAX_MATCHES = 10_000;
/** The context of a match in a line, and the size of a record that is shown whole (characters). */
const AROUND = 80;
const MAX_RECORD = 600;
/** How long the names on the way to a match are together (characters). */
const MAX_WAY = 160;
/** RE2 takes this many times as long as a plain search. */
const PATTERN_COST = 16;
/** A pattern is matched against this many characters at a time. */
const CHUNK = 16_384;

/** The index of the first match from an index on; -1 if there is none. */
type FindFrom = (from: number) => number;

/** Finds matches in texts. */
interface Finder {
  /** Of a character, in those of a plain search. */
  readonly cost: number;
  in(text: string): FindFrom;
}

/** @throws SyntaxError for a pattern that RE2 does not support */
export function finderOf(search: string): Finder {
  const pattern = /^\/(.+)\/(i?)$/s.exec(search);
  if (pattern !== null) {
    const compiled = compilePattern(`${pattern[2] === "i" ? "(?im)" : "(?m)"}${pattern[1]}`);
    return {
      cost: PATTERN_COST,
      in(text) {
        const matcher = compiled.matcher(text);
        return (from) => (matcher.find(from) ? matcher.start() : -1);
      },
    };
  }
  const wanted = search.toLowerCase();
  return {
    cost: 1,
    in(text) {
      const lower = text.toLowerCase();
      // The small letters of some characters are longer.
      return lower.length === text.length
        ? (from) => lower.indexOf(wanted, from)
        : (from) => text.indexOf(search, from);
    },
  };
}

/** The matches from the `offset`th on that fit. @param width the longest line */
export function* searched(document: Document, finder: Finder, query: PageQuery, width: number): Steps<Page> {
  const matches: Matches = new Matches(query);
  if (document.unit === "lines") yield* searchLines(document.text, finder, matches, width);
  else yield* searchItems(document, finder, matches);
  return matches.page(document.unit);
}

/** Collects the matches of one page, and counts the others. */
class Matches {
  readonly #query: PageQuery;
  readonly #texts: string[] = [];
  #left: number;
  #isFull = false;
  total = 0;

  constructor(query: PageQuery) {
    this.#query = query;
    this.#left = query.room;
  }

  get isOver(): boolean {
    return this.total >= MAX_MATCHES;
  }

  add(write: () => string): void {
    const { offset, limit, room } = this.#query;
    this.total += 1;
    if (this.total <= offset || this.#isFull) return;
    const text = this.#texts.length === 0 ? clipped(write(), room) : write();
    this.#left -= escapedLength(text) + 2;
    this.#isFull = this.#texts.length >= limit || (this.#left < 0 && this.#texts.length > 0);
    if (!this.#isFull) this.#texts.push(text);
  }

  page(unit: Page["unit"]): Page {
    const { offset } = this.#query;
    const next = offset + this.#texts.length;
    return {
      text: this.total === 0 ? "(no match)" : this.#texts.join("\n"),
      total: this.total,
      offset,
      next: next < this.total ? next : undefined,
      unit,
    };
  }
}

function* searchLines(text: string, finder: Finder, matches: Matches, width: number): Steps<void> {
  const lines = new Lines(text, width);
  const work = new Work();
  let last = -1;
  for (let start = 0; start < text.length && !matches.isOver; ) {
    // At the end of a line, where one is near.
    const newline = text.lastIndexOf("\n", start + CHUNK);
    const end = start + CHUNK >= text.length ? text.length : newline > start ? newline + 1 : start + CHUNK;
    const chunk = text.slice(start, end);
    const find = finder.in(chunk);
    for (let at = find(0); at !== -1 && !matches.isOver; ) {
      const index = lines.lineOf(start + at);
      if (index !== last) matches.add(() => inContext(lines, index));
      last = index;
      const lineEnd = chunk.indexOf("\n", at);
      at = lineEnd === -1 || lineEnd + 1 >= chunk.length ? -1 : find(lineEnd + 1);
    }
    yield* work.spend(chunk.length * finder.cost);
    start = end;
  }
}

/** A line and its neighbours, with their offsets. */
function inContext(lines: Lines, index: number): string {
  const shown: string[] = [];
  for (let at = Math.max(0, index - 1); at <= Math.min(lines.count - 1, index + 1); at++)
    shown.push(`${at}${at === index ? ":" : "-"} ${clipped(lines.line(at), at === index ? 500 : 160)}`);
  return shown.join("\n");
}

type Items = Extract<Document, { readonly unit: "items" }>;

function* searchItems({ value: root, pointer }: Items, finder: Finder, matches: Matches): Steps<void> {
  const work = new Work();
  /** The next value last: they are found in their order. */
  const open: Place[] = [{ value: root, pointer, record: undefined }];
  /** The record that was shown last, as a whole: its other matches are in it. */
  let last: Place | undefined;
  for (let place = open.pop(); place !== undefined && !matches.isOver; place = open.pop()) {
    const { value, record } = place;
    if (isContainer(value)) {
      const own = isSmall(value) ? { ...place, record: undefined } : undefined;
      const inner: Place[] = [];
      for (const [key, member] of membersOf(value)) {
        const each = { value: member, pointer: extended(place.pointer, key), record: record ?? own };
        if (typeof key === "string" && isContainer(member) && finder.in(key)(0) !== -1)
          matches.add(() => `${placeOf(each)}: ${briefly(member)}`);
        inner.push(each);
      }
      yield* work.spend(inner.length * 8);
      for (const each of inner.toReversed()) open.push(each);
      continue;
    }
    const text = typeof value === "string" ? value : writeJson(value);
    yield* work.spend(text.length * finder.cost + 1);
    const at = finder.in(text)(0);
    if (at === -1 || (record !== undefined && record === last)) continue;
    last = record;
    matches.add(
      () =>
        `${placeOf(record ?? place)}: ${record === undefined ? around(text, at) : writeJson(record.value)}`,
    );
  }

  /** The pointer, and what the objects around it are called: the way through a tree. */
  function placeOf({ pointer: path }: Place): string {
    const labels = labelsAlong(root, keysOf(path.slice(pointer.length)));
    const way = labels.length === 0 ? "" : ` (${clipped(labels.join(" > "), MAX_WAY)})`;
    return `${path || "/"}${way}`;
  }
}

/** A value, where it is, and the largest small value that it is in. */
interface Place {
  readonly value: unknown;
  readonly pointer: string;
  readonly record: Place | undefined;
}

const membersOf = (value: Container): Iterable<readonly [string | number, unknown]> =>
  Array.isArray(value) ? value.entries() : Object.entries(value as JsonObject);

/** Whether its JSON has about MAX_RECORD characters at most; looks at no more of it. */
function isSmall(value: Container): boolean {
  let left = MAX_RECORD;
  const open: unknown[] = [value];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    left -= 2;
    if (isContainer(each)) {
      for (const [key, member] of membersOf(each)) {
        left -= typeof key === "string" ? key.length + 4 : 1;
        if (left < 0) return false;
        open.push(member ?? 0);
      }
    } else left -= typeof each === "string" ? each.length : 8;
    if (left < 0) return false;
  }
  return true;
}

const briefly = (value: Container): string =>
  isSmall(value)
    ? writeJson(value)
    : `${Array.isArray(value) ? "a list" : "an object"} of ${Object.keys(value).length}`;

/** The text around a match. */
function around(text: string, at: number): string {
  const start = Math.max(0, at - AROUND);
  const end = at + 2 * AROUND;
  return `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
}
