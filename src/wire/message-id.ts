/** When are two request ids, or two progress tokens, equal? They are compared by value and sent back as written. */
import { toBigInt } from "./decimal.js";
import { ExactNumber } from "./exact-number.js";

/** A request id or progress token. */
export type MessageId = string | number | ExactNumber;

/** A Map key that is the same for equal ids (`1` and `1.0`); strings and numbers never collide. */
export type IdKey = string | number | bigint;

/** The key of an id or a progress token; undefined for anything but a string or an integer. */
export function idKey(id: unknown): IdKey | undefined {
  if (typeof id === "string") return id;
  if (typeof id === "number") return Number.isInteger(id) ? id : undefined;
  return id instanceof ExactNumber ? integerOf(id) : undefined;
}

/** The key of a valid id. */
export function idKeyOf(id: MessageId): IdKey {
  return typeof id === "object" ? (idKey(id) ?? id.source) : id;
}

/** Whether it is a valid progress token; any number is. */
export const isProgressToken = (value: unknown): value is MessageId =>
  typeof value === "string" ||
  typeof value === "number" ||
  (value instanceof ExactNumber && value.source.length <= MAX_DIGITS);

/** Whether it is a valid request id. */
export const isMessageId = (value: unknown): value is MessageId => idKey(value) !== undefined;

/** Limit of digits; converting them takes quadratic time. */
const MAX_DIGITS = 1000;

function integerOf(number: ExactNumber): number | bigint | undefined {
  if (number.source.length > MAX_DIGITS) return undefined;
  const whole = toBigInt(number, MAX_DIGITS);
  if (whole === undefined) return undefined;
  const near = Number(whole);
  return Number.isFinite(near) && BigInt(near) === whole ? near : whole;
}
