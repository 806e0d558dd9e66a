/** Does a JSON text have numbers that JavaScript would serialize differently? */
import { endOfString } from "./result-span.js";

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
export function hasNonCanonicalNumber(text: string): boolean {
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
export function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (isNumeric(text.charCodeAt(end))) end++;
  return end;
}

/** Whether JavaScript would serialize the number from `start` to `end` differently. */
export function isNonCanonical(text: string, start: number, end: number): boolean {
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

const QUOTE = 34;
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
