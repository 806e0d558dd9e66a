/** What do the keywords about a single value demand: its type, bounds, length, pattern and format? */

import { compareNumbers, isInteger, isNumber, type JsonNumber, toBigInt } from "../../wire/decimal.js";
import { ExactNumber, isObject, type JsonObject } from "../../wire/json.js";
import { type CheckRun, shortened, UNKNOWN, violation } from "./check-result.js";
import type { Keyword } from "./compiler.js";
import { equality } from "./equality.js";
import { formatTest } from "./formats.js";

const IS_TYPE: ReadonlyMap<unknown, (value: unknown) => boolean> = new Map<
  unknown,
  (value: unknown) => boolean
>([
  ["string", (value) => typeof value === "string"],
  ["number", isNumber],
  ["integer", (value) => isNumber(value) && isInteger(value)],
  ["boolean", (value) => typeof value === "boolean"],
  ["null", (value) => value === null],
  ["object", isObject],
  ["array", Array.isArray],
]);

const type: Keyword = ({ type: given, nullable }, compiler) => {
  if (given === undefined) return undefined;
  const names: readonly unknown[] = Array.isArray(given) ? given : [given];
  const tests = names.map((name) => IS_TYPE.get(name));
  if (tests.length === 0 || tests.includes(undefined)) return compiler.ignoreKeyword("type");
  const wrong = violation(`must be ${names.map(String).join(" or ")}`);
  return (value, run) => {
    spendDigits(value, run);
    for (const test of tests) if (test?.(value) === true) return undefined;
    // `nullable` is OpenAPI's, and still stands in many schemas that were generated from one.
    return nullable === true && value === null ? undefined : wrong;
  };
};

const BOUNDS: readonly (readonly [string, string, (value: JsonNumber, bound: JsonNumber) => boolean])[] = [
  ["minimum", "must be at least", (value, bound) => compareNumbers(value, bound) >= 0],
  ["maximum", "must be at most", (value, bound) => compareNumbers(value, bound) <= 0],
  ["exclusiveMinimum", "must be more than", (value, bound) => compareNumbers(value, bound) > 0],
  ["exclusiveMaximum", "must be less than", (value, bound) => compareNumbers(value, bound) < 0],
  ["multipleOf", "must be a multiple of", isMultiple],
];

const bounds: Keyword = (schema, compiler) => {
  const found = BOUNDS.flatMap(([key, what, holds]) => {
    const given = schema[key];
    // In draft 4 the exclusive keywords are booleans that make the other bound strict.
    const [word, bound] = given === true ? strictBound(schema, key) : [what, given];
    if (bound === undefined || bound === false) return [];
    if (!isNumber(bound) || (key === "multipleOf" && Number(bound) <= 0)) {
      compiler.ignoreKeyword(key);
      return [];
    }
    return [{ holds, bound, wrong: violation(`${word} ${String(bound)}`) }];
  });
  if (found.length === 0) return undefined;
  return (value, run) => {
    if (!isNumber(value)) return undefined;
    spendDigits(value, run);
    return found.find(({ holds, bound }) => !holds(value, bound))?.wrong;
  };
};

/** A number may have as many digits as a message has bytes. */
function spendDigits(value: unknown, run: CheckRun): void {
  if (value instanceof ExactNumber) run.spend(value.source.length / 8);
}

const strictBound = (schema: JsonObject, key: string): readonly [string, unknown] =>
  key === "exclusiveMinimum" ? ["must be more than", schema.minimum] : ["must be less than", schema.maximum];

function isMultiple(value: JsonNumber, bound: JsonNumber): boolean {
  if (typeof value !== "number" || typeof bound !== "number") {
    const [whole, divisor] = [toBigInt(value, MAX_DIGITS), toBigInt(bound, MAX_DIGITS)];
    if (whole !== undefined && divisor !== undefined) return whole % divisor === 0n;
  }
  // Floating-point quotients of decimal fractions are not exact.
  const quotient = Number(value) / Number(bound);
  return Math.abs(quotient - Math.round(quotient)) <= 1e-9 * Math.max(1, Math.abs(quotient));
}

/** The most digits of a number that is divided exactly. */
const MAX_DIGITS = 1000;

const lengths: Keyword = ({ minLength, maxLength }, compiler) => {
  const least = compiler.count("minLength", minLength);
  const most = compiler.count("maxLength", maxLength);
  if (least === undefined && most === undefined) return undefined;
  const tooShort = violation(`must have at least ${least} characters`);
  const tooLong = violation(`must have at most ${most} characters`);
  return (value, run) => {
    if (typeof value !== "string") return undefined;
    // A character is one or two UTF-16 units, so characters are counted only between the two bounds.
    if (least !== undefined && value.length < least) return tooShort;
    if (least !== undefined && value.length < least * 2 && characters(value, run) < least) return tooShort;
    return most !== undefined && value.length > most && characters(value, run) > most ? tooLong : undefined;
  };
};

function characters(text: string, run: CheckRun): number {
  run.spend(text.length / 8);
  let pairs = 0;
  for (let i = 0; i + 1 < text.length; i += 1) if ((text.codePointAt(i) ?? 0) > 0xff_ff) pairs += 1;
  return text.length - pairs;
}

const texts: Keyword = ({ pattern, format }, compiler) => {
  const test = typeof format === "string" ? formatTest(format) : undefined;
  const wrongFormat = violation(`must be a text of format ${String(format)}`);
  if (pattern === undefined && test === undefined) return undefined;
  const matcher = pattern === undefined ? undefined : compiler.pattern("pattern", pattern);
  const wrongPattern = violation(`must match the pattern ${shortened(String(pattern), 100)}`);
  return (value, run) => {
    if (typeof value !== "string") return undefined;
    if (test !== undefined) {
      run.spend(value.length / 8);
      if (!test(value)) return wrongFormat;
    }
    if (matcher === undefined) return undefined;
    const { current } = matcher;
    if (current === undefined) return UNKNOWN;
    return current.test(value, run) ? undefined : wrongPattern;
  };
};

/** In the order in which violations are reported. */
export const SCALARS: readonly Keyword[] = [type, equality, bounds, lengths, texts];
