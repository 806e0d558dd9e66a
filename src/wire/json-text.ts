/** JSON text to values and back, with every number as it was written. */
import { exceedsDepth } from "./depth.js";
import { MARK, marking } from "./exact-number.js";
import { hasOddNumber, mayHaveOddNumber } from "./odd-numbers.js";
import { parseExact } from "./parse-exact.js";

/**
 * JSON.parse, but a number that JavaScript would write in another way becomes an `ExactNumber`.
 *
 * @throws SyntaxError as JSON.parse does
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!mayHaveOddNumber(text) || !hasOddNumber(text)) return value;
  // What is nested deeper than any message may be is refused by whoever reads it, whatever its numbers are.
  return exceedsDepth(text, DEEPEST) ? value : parseExact(text);
}

/** More than any message may have, and far from where the stack ends. */
const DEEPEST = 1000;

/**
 * JSON.stringify, but exact numbers keep their text.
 *
 * @param indent as in JSON.stringify
 * @param replace what to write for each value; it is not asked about exact numbers
 * @throws RangeError where `value` is nested too deeply for the stack
 */
export function writeJson(value: unknown, indent?: number, replace?: Replace): string {
  const outer = marking.wasUsed;
  marking.isOn = true;
  marking.wasUsed = false;
  try {
    const text =
      replace === undefined ? JSON.stringify(value, null, indent) : replaced(value, indent, replace);
    return marking.wasUsed ? text.replace(MARKED, "$1") : text;
  } finally {
    marking.isOn = false;
    marking.wasUsed = outer;
  }
}

type Replace = (value: unknown) => unknown;

function replaced(value: unknown, indent: number | undefined, replace: Replace): string {
  const replacer = (_key: string, inner: unknown): unknown =>
    typeof inner === "string" && inner.startsWith(MARK) ? inner : replace(inner);
  return JSON.stringify(value, replacer, indent);
}

const MARKED = new RegExp(`"${MARK}([^"]*)"`, "g");
