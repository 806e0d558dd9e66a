/** JSON whose texts are without the characters that no reader sees. */
import type { Steps, Work } from "../../runtime/cooperative-yield.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import { needsALook } from "./invisible-characters.js";
import { visibleText } from "./visible-text.js";

/** Which texts are not changed. */
export interface Exempt {
  /** Whether names of members do. */
  readonly names: boolean;
  /** Whether the value of the member `name` does, at this depth from the top. */
  readonly member: (name: string, depth: number) => boolean;
}

/** Members of a message that are for programs. */
export const OF_MESSAGES: Exempt = { names: false, member: (name, depth) => name === "_meta" && depth === 0 };

/** What calls carry back to the server, which would not know it otherwise; its scan is another matter. */
const CARRIED: ReadonlySet<string> = new Set(["enum", "const", "default", "pattern", "required"]);
const IDENTITIES: ReadonlySet<string> = new Set(["uri", "uriTemplate", "_meta", "icons"]);

/** Of definitions and of questions: names of members are those of arguments and answers. */
export const OF_SCHEMAS: Exempt = {
  names: true,
  member: (name, depth) => CARRIED.has(name) || (depth === 0 && IDENTITIES.has(name)),
};

/** A copy; the very same value where there is none. Numbers stay as they were written. */
export function* visibleJson(value: unknown, exempt: Exempt, work: Work, depth = 0): Steps<unknown> {
  if (typeof value === "string") return yield* visibleText(value, work);
  if (Array.isArray(value)) return yield* visibleArray(value, exempt, work, depth);
  return isObject(value) ? yield* visibleObject(value, exempt, work, depth) : value;
}

function* visibleArray(
  array: readonly unknown[],
  exempt: Exempt,
  work: Work,
  depth: number,
): Steps<readonly unknown[]> {
  let copy: unknown[] | undefined;
  for (let at = 0; at < array.length; at++) {
    const item = array[at];
    if (work.mustYield(MEMBER_WORK)) yield;
    if (isPlain(item)) continue;
    const clean = yield* visibleJson(item, exempt, work, depth + 1);
    if (clean === item) continue;
    copy ??= [...array];
    copy[at] = clean;
  }
  return copy ?? array;
}

function* visibleObject(object: JsonObject, exempt: Exempt, work: Work, depth: number): Steps<JsonObject> {
  let copy: [string, unknown][] | undefined;
  const keys = Object.keys(object);
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at] ?? "";
    const { [key]: inner } = object;
    if (work.mustYield(MEMBER_WORK)) yield;
    const isExempt = exempt.member(key, depth);
    if ((isExempt || isPlain(inner)) && (exempt.names || isPlain(key))) continue;
    const clean = isExempt ? inner : yield* visibleJson(inner, exempt, work, depth + 1);
    const name = exempt.names ? key : yield* visibleText(key, work);
    // Two members are not to become one.
    const left = name !== key && Object.hasOwn(object, name) ? key : name;
    if (left === key && clean === inner) continue;
    copy ??= Object.entries(object);
    copy[at] = [left, clean];
  }
  return copy === undefined ? object : Object.fromEntries(copy);
}

/** What a member costs beside the length of its text. */
const MEMBER_WORK = 2;
/** Longer texts are read in steps (UTF-16 code units). */
const SHORT = 4_096;

/** Whether a value certainly has none: most of them, without a step of their own. */
const isPlain = (value: unknown): boolean =>
  typeof value === "string"
    ? value.length <= SHORT && !needsALook(value)
    : typeof value !== "object" || value === null;
