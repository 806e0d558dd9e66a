/** JSON text to values and back, with every number as it was written. */
import { exceedsDepth } from "./depth.js";
import { ExactNumber, NOT_WRITTEN, stringifying } from "./exact-number.js";
import { hasNonCanonicalNumber, mayHaveNonCanonicalNumber } from "./non-canonical-numbers.js";
import { parseExact } from "./parse-exact.js";
import { type WriteOptions, writeExact } from "./write-exact.js";

/**
 * JSON.parse, but a number that JavaScript would write in another way becomes an `ExactNumber`.
 *
 * @throws SyntaxError as JSON.parse does
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!mayHaveNonCanonicalNumber(text) || !hasNonCanonicalNumber(text)) return value;
  // What is nested deeper than any message may be is refused by whoever reads it, whatever its numbers are.
  return exceedsDepth(text, MAX_EXACT_DEPTH) ? value : parseExact(text);
}

/** More than any message may have, and far from where the stack ends. */
const MAX_EXACT_DEPTH = 1000;

/**
 * JSON.stringify, but exact numbers keep their text.
 *
 * @param indent as in JSON.stringify
 * @param replace what to write for each value; it is not asked about exact numbers
 * @throws RangeError where `value` is nested too deeply for the stack
 */
export function writeJson(value: unknown, indent?: number, replace?: WriteOptions["replace"]): string {
  if (replace !== undefined) return writeExact(value, { indent, replace });
  // Most ids; each response has one, and JSON.stringify takes several times as long.
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
 * The JSON text of `value` with the keys of every object sorted; it recurses, so bound the depth before. Numbers that
 * are written in different ways are different here, whatever they are worth: servers may tell them apart.
 */
export function canonicalText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (value instanceof ExactNumber) return value.source;
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  const object = value as Readonly<Record<string, unknown>>;
  // Without a comparison of its own it sorts by code units, which is what is meant, and several times as fast.
  const keys = Object.keys(object).sort();
  const members = keys.map((key) => `${JSON.stringify(key)}:${canonicalText(object[key])}`);
  return `{${members.join(",")}}`;
}
