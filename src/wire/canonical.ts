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
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalText(inner)}`).join(",")}}`;
}
