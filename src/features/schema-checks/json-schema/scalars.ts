/** What do the keywords about a single value demand: its type, equality, bounds, length, pattern and format? */

import { isIPv4, isIPv6 } from "node:net";
import {
  canonicalDecimal,
  compareNumbers,
  isInteger,
  isNumber,
  type JsonNumber,
  toBigInt,
} from "../../../wire/decimal.js";
import { ExactNumber, isObject, type JsonObject } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { type Check, CheckRun, inSequence, shortened, UNKNOWN, violation } from "./check-result.js";
import type { Keyword } from "./compile.js";

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

/** `const` and `enum`. */
const equality: Keyword = (schema, compiler) => {
  const { enum: given } = schema;
  const only = Object.hasOwn(schema, "const") ? [schema.const] : undefined;
  if (given !== undefined && !Array.isArray(given)) compiler.ignoreKeyword("enum");
  const sets = [
    ...(only === undefined ? [] : [only]),
    ...(Array.isArray(given) ? [given as readonly unknown[]] : []),
  ];
  if (sets.length === 0) return undefined;
  return inSequence(sets.map(oneOfThese));
};

function oneOfThese(values: readonly unknown[]): Check {
  const scalars = new Set(values.filter((value) => typeof value !== "object" || value === null));
  const fingerprints = new Set(
    values.filter(needsFingerprint).map((value) => fingerprint(value, new CheckRun())),
  );
  const wrong = violation(`must be ${values.length === 1 ? "" : "one of "}${shownValues(values)}`);
  return (value, run) => {
    if (scalars.has(value)) return undefined;
    if (fingerprints.size === 0 || !needsFingerprint(value)) return wrong;
    return fingerprints.has(fingerprint(value, run)) ? undefined : wrong;
  };
}

/** Numbers too: 1 and 1.0 are equal, however they are written. */
const needsFingerprint = (value: unknown): boolean =>
  (typeof value === "object" && value !== null) || typeof value === "number";

/** The allowed values come from the schema and are no secret; at most 10 are shown. */
function shownValues(values: readonly unknown[]): string {
  const shown = values.slice(0, 10).map((value) => shortened(writeJson(value), 50));
  return shown.join(", ") + (values.length > shown.length ? " …" : "");
}

/**
 * The same text for equal JSON values, made within the work that a run may do.
 *
 * @throws CheckLimitError
 */
export function fingerprint(value: unknown, run: CheckRun): string {
  run.enter();
  const text = write(value, run);
  run.leave();
  return text;
}

function write(value: unknown, run: CheckRun): string {
  if (typeof value === "string") {
    run.spend(2 + value.length / 16);
    return writeJson(value);
  }
  if (typeof value === "number") return canonicalDecimal(value);
  if (value instanceof ExactNumber) {
    run.spend(2 + value.source.length / 16);
    return canonicalDecimal(value);
  }
  if (!isObject(value) && !Array.isArray(value)) return String(value);
  // Building text costs more than visiting a value.
  run.spend(20);
  if (Array.isArray(value)) return `[${value.map((element) => fingerprint(element, run)).join(",")}]`;
  const members = Object.keys(value);
  run.spend(members.length * 10);
  members.sort();
  return `{${members.map((key) => `${write(key, run)}:${fingerprint(value[key], run)}`).join(",")}}`;
}

type IsFormat = (text: string) => boolean;

const matches =
  (pattern: RegExp): IsFormat =>
  (text) =>
    pattern.test(text);

const FORMATS: ReadonlyMap<string, IsFormat> = new Map<string, IsFormat>([
  ["date-time", isDateTime],
  ["date", isDate],
  ["time", isTime],
  ["email", isEmail],
  ["hostname", isHostname],
  ["ipv4", isIPv4],
  ["ipv6", (text) => isIPv6(text) && !text.includes("%")],
  ["uri", matches(/^[a-z][a-z0-9+.-]*:(?:[^\s\\^<>"{}|`%]|%[0-9a-f]{2})*$/i)],
  ["uri-reference", matches(/^(?:[^\s\\^<>"{}|`%]|%[0-9a-f]{2})*$/i)],
  ["uuid", matches(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i)],
  ["json-pointer", matches(/^(?:\/(?:[^~/]|~[01])*)*$/)],
]);

/** Undefined for a format that is an annotation only. The test takes time linear in the text. */
const formatTest = (name: string): IsFormat | undefined => FORMATS.get(name);

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** RFC 3339, 5.6: full-date. */
function isDate(text: string): boolean {
  const [, year = "", month = "", day = ""] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  const leap = Number(year) % 4 === 0 && (Number(year) % 100 !== 0 || Number(year) % 400 === 0);
  const days = month === "02" && leap ? 29 : DAYS[Number(month) - 1];
  return days !== undefined && Number(day) >= 1 && Number(day) <= days;
}

/** RFC 3339, 5.6: full-time; a leap second is valid only where UTC is 23:59. */
function isTime(text: string): boolean {
  const found = /^(\d\d):(\d\d):(\d\d)(?:\.\d{1,30})?(?:z|([+-])(\d\d):(\d\d))$/i.exec(text);
  if (found === null) return false;
  const [, hour, minute, second, sign, offsetHour = 0, offsetMinute = 0] = found;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return false;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return false;
  if (Number(second) < 60) return true;
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === "-" ? -1 : 1);
  const utc = (Number(hour) * 60 + Number(minute) - offset + 2 * 1440) % 1440;
  return utc === 1439;
}

function isDateTime(text: string): boolean {
  return /^.{10}t/i.test(text) && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  return at > 0 && LOCAL_PART.test(text.slice(0, at)) && isHostname(text.slice(at + 1));
}

/** RFC 5321, 4.1.2: Dot-string; quoted local parts are not valid here. */
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,64}(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,64}){0,31}$/i;

function isHostname(text: string): boolean {
  if (text.length > 253) return false;
  return text.split(".").every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(label));
}

/** In the order in which violations are reported. */
export const SCALARS: readonly Keyword[] = [type, equality, bounds, lengths, texts];
