/** One text for equal JSON values, whatever order their keys came in. */
import { ExactNumber } from "./exact-number.js";

/**
 * The JSON text of `value` with the keys of every object sorted; it recurses, so bound the depth before. Numbers that
 * are written in different ways are different here, whatever they are worth: servers may tell them apart.
 */
export function canonicalText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (value instanceof ExactNumber) return value.source;
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  const object = value as Readonly<Record<string, unknown>>;
  // Without a comparison of its own it sorts by code units, which is what is meant, and several times as fast.
  const keys = Object.keys(object).sort();
  const members = keys.map((key) => `${JSON.stringify(key)}:${canonicalText(object[key])}`);
  return `{${members.join(",")}}`;
}
