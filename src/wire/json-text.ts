/** How is JSON parsed and written without changing a number? */
import { exceedsDepth } from "./depth.js";
import { ExactNumber, NOT_WRITTEN, stringifying } from "./exact-number.js";
import { hasNonCanonicalNumber, mayHaveNonCanonicalNumber } from "./non-canonical-numbers.js";
import { parseExact } from "./parse-exact.js";
import { type WriteOptions, writeExact } from "./write-exact.js";

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
 * @throws RangeError where `value` is nested too deeply for the stack
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
