/** How are JSON numbers compared exactly, beyond the precision of doubles? */
import { ExactNumber } from "./json.js";

/** A parsed JSON number. */
export type JsonNumber = number | ExactNumber;

/** Whether a parsed JSON value is a number. */
export const isNumber = (value: unknown): value is JsonNumber =>
  typeof value === "number" || value instanceof ExactNumber;

/** `digits` × 10^`exponent`, without zeros at either end; no digits at all for zero. */
interface Decimal {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

/** One text for equal numbers (`1`, `1.0` and `10e-1`). */
export function canonicalDecimal(value: JsonNumber): string {
  if (typeof value === "number" && Number.isSafeInteger(value)) return `${value + 0}`;
  const { isNegative, digits, exponent } = decimalOf(value);
  if (exponent === 0 || digits === "") return `${isNegative && digits !== "" ? "-" : ""}${digits || "0"}`;
  const whole = exponent > 0 && digits.length + exponent <= SAFE_DIGITS;
  return `${isNegative ? "-" : ""}${whole ? digits.padEnd(digits.length + exponent, "0") : `${digits}e${exponent}`}`;
}

/** Whether it is an integer, in any notation. */
export const isInteger = (value: JsonNumber): boolean =>
  typeof value === "number" ? Number.isInteger(value) : decimalOf(value).exponent >= 0;

/** Below zero where `a` is less than `b`, above where it is more. */
export function compareNumbers(a: JsonNumber, b: JsonNumber): number {
  const [near, far] = [Number(a), Number(b)];
  // Rounding keeps the order, so only numbers of equal double need an exact comparison.
  if (near !== far) return near < far ? -1 : 1;
  if (typeof a === "number" && typeof b === "number") return 0;
  const [one, two] = [decimalOf(a), decimalOf(b)];
  if (signOf(one) !== signOf(two)) return signOf(one) - signOf(two);
  return one.isNegative ? compareMagnitudes(two, one) : compareMagnitudes(one, two);
}

/** The integer, where it has at most `most` digits; undefined for everything else. */
export function toBigInt(value: JsonNumber, most: number): bigint | undefined {
  const { isNegative, digits, exponent } = decimalOf(value);
  if (exponent < 0 || digits.length + exponent > most) return undefined;
  const size = BigInt(`${digits || "0"}${"0".repeat(exponent)}`);
  return isNegative ? -size : size;
}

const signOf = ({ isNegative, digits }: Decimal): number => (digits === "" ? 0 : isNegative ? -1 : 1);

function compareMagnitudes(a: Decimal, b: Decimal): number {
  const places = a.digits.length + a.exponent - (b.digits.length + b.exponent);
  if (places !== 0) return places;
  return a.digits === b.digits ? 0 : a.digits < b.digits ? -1 : 1;
}

function decimalOf(value: JsonNumber): Decimal {
  const [, sign, whole = "", fraction = "", power = "0"] = NUMBER.exec(String(value)) ?? [];
  const written = whole + fraction;
  let first = 0;
  while (written.charCodeAt(first) === ZERO) first++;
  let last = written.length;
  while (last > first && written.charCodeAt(last - 1) === ZERO) last--;
  const digits = written.slice(first, last);
  // Exponents beyond 2^53 are treated as infinite.
  const exponent = digits === "" ? 0 : Number(power) - fraction.length + (written.length - last);
  return { isNegative: sign === "-", digits, exponent };
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/;
const ZERO = 48;
/** Digits up to which every integer is a double. */
const SAFE_DIGITS = 15;
