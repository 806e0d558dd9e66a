/** Ids of requests and progress tokens: kept as they were written, and compared by what they say. */
import { toBigInt } from "./decimal.js";
import { ExactNumber } from "./exact-number.js";

export type MessageId = string | number | ExactNumber;

/** What equal ids have in common (`1` and `1.0` are one number), as the key of a Map; texts and numbers never meet. */
export type IdKey = string | number | bigint;

/** The key of an id or a progress token; undefined for what is none: anything but a string or an integer. */
export function idKey(id: unknown): IdKey | undefined {
  if (typeof id === "string") return id;
  if (typeof id === "number") return Number.isInteger(id) ? id : undefined;
  return id instanceof ExactNumber ? integerOf(id) : undefined;
}

/** The same of what was found to be an id before. */
export function idKeyOf(id: MessageId): IdKey {
  return typeof id === "object" ? (idKey(id) ?? id.source) : id;
}

/** Whether a client may ask for progress under this token; any number will do. */
export const isProgressToken = (value: unknown): value is MessageId =>
  typeof value === "string" ||
  typeof value === "number" ||
  (value instanceof ExactNumber && value.source.length <= MAX_DIGITS);

export const isMessageId = (value: unknown): value is MessageId => idKey(value) !== undefined;

/** Enough for `1e400`; the work of writing them out grows faster than they do. */
const MAX_DIGITS = 1000;

function integerOf(number: ExactNumber): number | bigint | undefined {
  if (number.source.length > MAX_DIGITS) return undefined;
  const whole = toBigInt(number, MAX_DIGITS);
  if (whole === undefined) return undefined;
  const near = Number(whole);
  return Number.isFinite(near) && BigInt(near) === whole ? near : whole;
}
