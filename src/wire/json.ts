/** How are parsed JSON values typed and narrowed, numbers included that a double would change? */

/** A JSON object; it is never modified in place. */
export type JsonObject = { readonly [key: string]: unknown };

/** True for a plain JSON object; false for arrays, null, numbers of any kind and everything else. */
export function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

/** The object at `key`, or `undefined` when there is none or it is something else. */
export function objectAt(object: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
  return isObject(value) ? value : undefined;
}

/** The string at `key`, or `undefined` when there is none or it is something else. */
export function stringAt(object: JsonObject | undefined, key: string): string | undefined {
  const value = object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
  return typeof value === "string" ? value : undefined;
}

/** True for an object without members. */
export function isEmpty(object: JsonObject): boolean {
  for (const _key in object) return false;
  return true;
}

/** A copy of `object` without `keys`; the object itself when it has none of them. */
export function without(object: JsonObject, keys: readonly string[]): JsonObject {
  if (!keys.some((key) => Object.hasOwn(object, key))) return object;
  // Assigning to `__proto__` would set the prototype.
  if (Object.hasOwn(object, "__proto__")) {
    return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
  }
  const rest: Record<string, unknown> = {};
  for (const key in object) if (!keys.includes(key)) rest[key] = object[key];
  return rest;
}

/** Whether two JSON values are equal, in any order of members; numbers by their notation. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((one, at) => isSame(one, b[at]));
  }
  if (a instanceof ExactNumber) return b instanceof ExactNumber && a.source === b.source;
  if (!isObject(a) || !isObject(b)) return false;
  let more = 0;
  for (const key in a) {
    if (!Object.hasOwn(b, key) || !isSame(a[key], b[key])) return false;
    more += 1;
  }
  for (const _key in b) more -= 1;
  return more === 0;
}

/**
 * A number that JavaScript would serialize differently from its source: `9007199254740993`, `1e400`, `1.0`, `-0`.
 * `parseJson` creates them, `writeJson` writes them back. Other serializers (log lines) get the nearest double.
 */
export class ExactNumber {
  /** @param source the number as JSON text */
  constructor(readonly source: string) {}

  valueOf(): number {
    return Number(this.source);
  }

  toString(): string {
    return this.source;
  }

  toJSON(): number {
    if (stringifying.isExact) throw NOT_WRITTEN;
    return Number(this.source);
  }
}

/** A JSON number as a double; undefined for everything else. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return value instanceof ExactNumber ? Number(value.source) : undefined;
}

/** Set by `writeJson` while it calls JSON.stringify. */
export const stringifying = { isExact: false };

/** Thrown out of JSON.stringify at an exact number, which it cannot write. */
export const NOT_WRITTEN: unique symbol = Symbol("an exact number");
