/** How is JSON parsed and written without changing a number? */

import {
  ExactNumber,
  type JsonObject,
  NOT_WRITTEN,
  stringifying,
  type WriteOptions,
  writeExact,
} from "./json.js";
import { endOfString, exceedsDepth, skipSpace } from "./json-scan.js";

/**
 * JSON.parse, but a number that JavaScript would serialize differently becomes an `ExactNumber`.
 *
 * @throws SyntaxError as JSON.parse does
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!mayHaveNonCanonicalNumber(text) || !hasNonCanonicalNumber(text)) return value;
  // A text nested this deeply is refused by the caller, whatever its numbers are.
  return exceedsDepth(text, MAX_EXACT_DEPTH) ? value : parseExact(text);
}

/** Above the limit of messages, and far below a stack overflow. */
const MAX_EXACT_DEPTH = 1000;

/**
 * JSON.stringify, but exact numbers keep their text.
 *
 * @param indent as in JSON.stringify
 * @param replace the value to write in place of each; not called for exact numbers
 * @throws RangeError if `value` is nested too deeply for the stack
 */
export function writeJson(value: unknown, indent?: number, replace?: WriteOptions["replace"]): string {
  if (replace !== undefined) return writeExact(value, { indent, replace });
  // The fast path for ids: JSON.stringify takes several times as long.
  if (Number.isSafeInteger(value)) return String(value);
  stringifying.isExact = true;
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    if (error !== NOT_WRITTEN) throw error;
    return writeExact(value, { indent });
  } finally {
    stringifying.isExact = false;
  }
}

/**
 * The JSON text of `value` with sorted keys: one text for equal values. It recurses, so check the depth before. Numbers
 * in different notations stay different (`1`, `1.0`), because servers may distinguish them.
 */
export function canonicalText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (value instanceof ExactNumber) return value.source;
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  const object = value as Readonly<Record<string, unknown>>;
  // The default order is by code units, and several times as fast as a comparison function.
  const keys = Object.keys(object).sort();
  const members = keys.map((key) => `${JSON.stringify(key)}:${canonicalText(object[key])}`);
  return `{${members.join(",")}}`;
}

/** The approximate length (characters) of its JSON text; cheap for string members. */
export function approximateJsonLength(object: JsonObject): number {
  let extent = 2;
  for (const key in object) {
    const value = object[key];
    const inner = typeof value === "string" ? value.length : writeJson(value).length;
    extent += key.length + inner + 4;
  }
  return extent;
}

/**
 * Parses `text`, which JSON.parse must have accepted before; nothing is checked again. It recurses, so check the depth
 * before.
 */
function parseExact(text: string): unknown {
  return new ExactReader(text).value();
}

interface RecentNumber {
  readonly source: string;
  readonly value: number | ExactNumber;
}

class ExactReader {
  readonly #text: string;
  /** The last short number by hash. */
  readonly #recent: (RecentNumber | undefined)[] = [];
  /** The index of the next value, key or separator, or of white space before it. */
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): unknown {
    switch (this.#next()) {
      case OPEN_OBJECT:
        return this.#object();
      case OPEN_ARRAY:
        return this.#array();
      case QUOTE:
        return this.#string();
      case TRUE:
        this.#at += 4;
        return true;
      case FALSE:
        this.#at += 5;
        return false;
      case NULL:
        this.#at += 4;
        return null;
      default:
        return this.#number();
    }
  }

  #object(): object {
    const object: Record<string, unknown> = {};
    this.#at++;
    while (this.#next() !== CLOSE_OBJECT) {
      const key = this.#string();
      // The colon.
      this.#next();
      this.#at++;
      const value = this.value();
      if (key === "__proto__") {
        // Assigning to `__proto__` would set the prototype.
        Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
      } else object[key] = value;
      if (this.#next() === COMMA) this.#at++;
    }
    this.#at++;
    return object;
  }

  #array(): unknown[] {
    const array: unknown[] = [];
    this.#at++;
    while (this.#next() !== CLOSE_ARRAY) {
      array.push(this.value());
      if (this.#next() === COMMA) this.#at++;
    }
    this.#at++;
    return array;
  }

  #string(): string {
    const start = this.#at;
    this.#at = endOfString(this.#text, start) + 1;
    const plain = this.#text.slice(start + 1, this.#at - 1);
    // A longer slice would keep the whole text in memory.
    if (plain.length <= MAX_COPIED_LENGTH && !plain.includes("\\")) return plain;
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  #number(): number | ExactNumber {
    const text = this.#text;
    const start = this.#at;
    const end = endOfNumber(text, start);
    this.#at = end;
    if (end - start > MAX_COPIED_LENGTH) {
      const token = text.slice(start, end);
      return isNonCanonical(text, start, end) ? new ExactNumber(copyOf(token)) : Number(token);
    }
    // Equal texts share one object: a message of some MB may repeat `1.0` a million times.
    let hash = 0;
    for (let at = start; at < end; at++) hash = (hash * 31 + text.charCodeAt(at)) | 0;
    const slot = hash & (SLOTS - 1);
    const recent = this.#recent[slot];
    if (
      recent !== undefined &&
      recent.source.length === end - start &&
      text.startsWith(recent.source, start)
    ) {
      return recent.value;
    }
    const source = text.slice(start, end);
    const value = isNonCanonical(text, start, end) ? new ExactNumber(source) : Number(source);
    this.#recent[slot] = { source, value };
    return value;
  }

  /** Skips white space; returns the code of the next character. */
  #next(): number {
    this.#at = skipSpace(this.#text, this.#at);
    return this.#text.charCodeAt(this.#at);
  }
}

const copyOf = (token: string): string => Buffer.from(token, "latin1").toString("latin1");

/** V8 copies slices up to this length; longer ones keep the whole text in memory. */
const MAX_COPIED_LENGTH = 12;
/** A power of two. */
const SLOTS = 256;

const QUOTE = 34;
const COMMA = 44;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const FALSE = 102;
const NULL = 110;
const TRUE = 116;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/**
 * False is certain: parsing and serializing `text` changes no number. Searches the whole text, strings included, in less
 * than 1 ns a character. `text` must be valid JSON.
 */
export function mayHaveNonCanonicalNumber(text: string): boolean {
  return (
    FRACTION_OR_EXPONENT.test(text) ||
    hasLongRun(text) ||
    hasMinusZero(text) ||
    isDigit(text.charCodeAt(text.length - 1))
  );
}

// A separator must follow, which excludes most look-alikes in strings: versions, hashes, times. One digit before the
// point or the `e` is enough; matching more would visit every digit.
const FRACTION_OR_EXPONENT = /\d[.eE][-+\d]+[,}\]\s]/;

/** Whether a number may be `-0`; in dates a digit follows. */
function hasMinusZero(text: string): boolean {
  for (let at = text.indexOf("-0"); at !== -1; at = text.indexOf("-0", at + 2)) {
    if (!isDigit(text.charCodeAt(at + 2))) return true;
  }
  return false;
}

/** Digits that a double always keeps (IEEE 754, binary64). */
const KEPT_DIGITS = 15;
const RUN = KEPT_DIGITS + 1;

/** Whether there is a run of more digits than a double keeps. One of them is at a multiple of RUN. */
function hasLongRun(text: string): boolean {
  for (let at = RUN - 1; at < text.length; at += RUN) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let first = at;
    while (isDigit(text.charCodeAt(first - 1))) first--;
    let last = at;
    while (last - first < RUN && isDigit(text.charCodeAt(last + 1))) last++;
    if (last - first >= KEPT_DIGITS) return true;
  }
  return false;
}

/** Exact, in one pass that skips strings. `text` must be valid JSON. */
function hasNonCanonicalNumber(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === MINUS || isDigit(code)) {
      const end = endOfNumber(text, at);
      if (isNonCanonical(text, at, end)) return true;
      at = end - 1;
    }
  }
  return false;
}

/** The index after the number that begins at `start`. */
function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (isNumeric(text.charCodeAt(end))) end++;
  return end;
}

/** Whether JavaScript would serialize the number from `start` to `end` differently. */
function isNonCanonical(text: string, start: number, end: number): boolean {
  let digits = 0;
  let hasPoint = false;
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === POINT) hasPoint = true;
    else if (code === MINUS) continue;
    else if (isDigit(code)) digits++;
    // JavaScript writes an exponent as `e+21` or `e-7`.
    else
      return (
        code !== SMALL_E || isDigit(text.charCodeAt(at + 1)) || serializesDifferently(text.slice(start, end))
      );
  }
  // Beyond KEPT_DIGITS only the conversion itself can tell.
  if (digits > KEPT_DIGITS) return serializesDifferently(text.slice(start, end));
  if (!hasPoint) return digits === 1 && text.startsWith("-0", start);
  if (text.charCodeAt(end - 1) === ZERO) return true;
  // What is below 0.000001 is written with an exponent.
  return text.startsWith("0.000000", text.charCodeAt(start) === MINUS ? start + 1 : start);
}

const serializesDifferently = (token: string): boolean => String(Number(token)) !== token;

const PLUS = 43;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const NINE = 57;
const SMALL_E = 101;

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;
/** Any character of a number; 32 tells `e` from `E`. */
const isNumeric = (code: number): boolean =>
  isDigit(code) || code === POINT || code === MINUS || code === PLUS || (code | 32) === 101;
