/** How are parsed JSON values typed, narrowed and compared, and how are numbers kept and written that a double would change? */

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

/** Whether two JSON values have the same text: the members of objects in the same order, numbers in the same notation. */
export function isSameText(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((one, at) => isSameText(one, b[at]));
  }
  if (a instanceof ExactNumber) return b instanceof ExactNumber && a.source === b.source;
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  const others = Object.keys(b);
  if (names.length !== others.length) return false;
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at] ?? "";
    if (name !== others[at] || !isSameText(a[name], b[name])) return false;
  }
  return true;
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

/** Formatting of the text. */
export interface WriteOptions {
  /** Spaces for each level, each member on a line of its own. Default: everything on one line. */
  readonly indent?: number | undefined;
  /** The value to write in place of each; not called for exact numbers. */
  readonly replace?: ((value: unknown) => unknown) | undefined;
}

/** JSON.stringify with exact numbers. @throws RangeError if `value` is nested too deeply for the stack */
export function writeExact(value: unknown, { indent = 0, replace }: WriteOptions = {}): string {
  const step = " ".repeat(indent);
  return write(value, indent === 0 ? "" : "\n") ?? "null";

  /** `margin` begins each line at this level. Undefined for values without a JSON form. */
  function write(given: unknown, margin: string): string | undefined {
    if (given instanceof ExactNumber) return given.source;
    const inner = replace === undefined ? given : replace(given);
    if (typeof inner === "string") return quoted(inner);
    if (typeof inner === "number") return Number.isFinite(inner) ? String(inner) : "null";
    if (typeof inner !== "object" || inner === null) return JSON.stringify(inner);
    if (Array.isArray(inner)) return list(inner, margin);
    return "toJSON" in inner && typeof inner.toJSON === "function"
      ? JSON.stringify(inner)
      : members(inner as Readonly<Record<string, unknown>>, margin);
  }

  function list(elements: readonly unknown[], margin: string): string {
    if (elements.length === 0) return "[]";
    const line = margin + step;
    // Joined, because garbage-collecting a rope of a million pieces takes longer than writing it.
    const texts: string[] = [];
    for (let at = 0; at < elements.length; at++) texts.push(write(elements[at], line) ?? "null");
    return `[${line}${texts.join(`,${line}`)}${margin}]`;
  }

  function members(object: Readonly<Record<string, unknown>>, margin: string): string {
    const line = margin + step;
    const colon = indent === 0 ? ":" : ": ";
    let text = "";
    for (const key of Object.keys(object)) {
      const inner = write(object[key], line);
      if (inner !== undefined) text += `${text === "" ? "{" : ","}${line}${quoted(key)}${colon}${inner}`;
    }
    return text === "" ? "{}" : `${text}${margin}}`;
  }
}

/** A fast path for short strings without escapes. */
const quoted = (text: string): string =>
  text.length <= SHORT && PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);

const SHORT = 64;
/** No character that JSON.stringify escapes: quotes, backslashes, control characters, lone surrogates. */
const PLAIN = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;
