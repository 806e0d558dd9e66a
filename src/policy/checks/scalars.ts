/** The keywords that are about one value as it stands: its type, what it equals, how large or long it is. */

import { compareNumbers, isInteger, isNumber, type JsonNumber, toBigInt } from "../../wire/decimal.js";
import { ExactNumber } from "../../wire/exact-number.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { type Check, CheckRun, UNKNOWN, violation } from "./check-result.js";
import type { Keyword } from "./compile.js";
import { fingerprint } from "./fingerprint.js";
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
    // OpenAPI's word, which many schemas that were made of one still have.
    return nullable === true && value === null ? undefined : wrong;
  };
};

const equality: Keyword = (schema, compiler) => {
  const { enum: given } = schema;
  const only = Object.hasOwn(schema, "const") ? [schema.const] : undefined;
  if (given !== undefined && !Array.isArray(given)) compiler.ignoreKeyword("enum");
  const sets = [
    ...(only === undefined ? [] : [only]),
    ...(Array.isArray(given) ? [given as readonly unknown[]] : []),
  ];
  if (sets.length === 0) return undefined;
  const checks = sets.map(oneOfThese);
  return (value, run) => {
    for (const check of checks) {
      const result = check(value, run);
      if (result !== undefined) return result;
    }
    return undefined;
  };
};

function oneOfThese(values: readonly unknown[]): Check {
  const scalars = new Set(values.filter((value) => typeof value !== "object" || value === null));
  // Numbers of equal worth are equal, however they were written.
  const others = new Set(
    values
      .filter((value) => (typeof value === "object" && value !== null) || typeof value === "number")
      .map((value) => fingerprint(value, new CheckRun())),
  );
  const wrong = violation(`must be ${values.length === 1 ? "" : "one of "}${shownValues(values)}`);
  return (value, run) => {
    if (scalars.has(value)) return undefined;
    const looked = (typeof value === "object" && value !== null) || typeof value === "number";
    return looked && others.size > 0 && others.has(fingerprint(value, run)) ? undefined : wrong;
  };
}

/** What is allowed is no secret; but there may be much of it. */
function shownValues(values: readonly unknown[]): string {
  const shown = values.slice(0, 10).map((value) => cut(writeJson(value), 50));
  return shown.join(", ") + (values.length > shown.length ? " …" : "");
}

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text);

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
    // Draft 4 has a truth value there, which makes the other bound strict.
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

/** A number may be as long as a message. */
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
  // Quotients of decimal fractions miss whole numbers by a little.
  const quotient = Number(value) / Number(bound);
  return Math.abs(quotient - Math.round(quotient)) <= 1e-9 * Math.max(1, Math.abs(quotient));
}

/** Of a number that is divided; more of them take time. */
const MAX_DIGITS = 1000;

const lengths: Keyword = ({ minLength, maxLength }, compiler) => {
  const least = compiler.count("minLength", minLength);
  const most = compiler.count("maxLength", maxLength);
  if (least === undefined && most === undefined) return undefined;
  const tooShort = violation(`must have at least ${least} characters`);
  const tooLong = violation(`must have at most ${most} characters`);
  return (value, run) => {
    if (typeof value !== "string") return undefined;
    // A character takes one unit or two, so mostly nobody has to count.
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
  const wrongPattern = violation(`must match the pattern ${cut(String(pattern), 100)}`);
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

export const SCALARS: readonly Keyword[] = [type, equality, bounds, lengths, texts];
