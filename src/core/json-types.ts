/** What are the types of JSON called (JSON Schema, "type"), and how does a sentence name them? */
import { isNumber } from "../wire/decimal.js";

/** The words of a sentence for each type. */
export const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

/** The type of a parsed value; of an integer it is `number`. */
export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (isNumber(value)) return "number";
  return Array.isArray(value) ? "array" : typeof value;
}
