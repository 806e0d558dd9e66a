/** Which value of a keyword do validators of JSON Schema 2020-12 take? Documents have others: `type: "any"`, `minLength: "3"`. */
import { isObject, type JsonObject, numberOf } from "../../wire/json.js";

/** Types that generators of documents write, and the types of JSON that they mean. */
const MEANT_TYPES: Readonly<Record<string, string>> = {
  ...{ int: "integer", int32: "integer", int64: "integer", long: "integer", short: "integer" },
  ...{ float: "number", double: "number", decimal: "number", bool: "boolean", list: "array" },
  ...{ dict: "object", map: "object", file: "string", date: "string", datetime: "string" },
  ...{ "date-time": "string", uuid: "string", str: "string", text: "string", binary: "string" },
};
const TYPES: ReadonlySet<string> = new Set([
  ...["array", "boolean", "integer", "null", "number", "object", "string"],
]);

/** Whether a schema is a file of OpenAPI 2: bytes, which arguments have in base64. */
export const isFile = ({ type }: JsonObject): boolean => type === "file" || type === "binary";

/** The value, as validators take it; undefined where the keyword is left out. */
export function keywordValue(keyword: string, value: unknown): unknown {
  const read = READERS.get(keyword);
  return read === undefined ? value : read(value);
}

type Reader = (value: unknown) => unknown;

function typeValue(value: unknown): unknown {
  if (!Array.isArray(value)) return typeName(value);
  const names = value.map(typeName);
  // A type that is none, such as `any`, may be all of them.
  return names.length === 0 || names.includes(undefined) ? undefined : [...new Set(names)];
}

function typeName(value: unknown): string | undefined {
  if (value === null) return "null";
  if (typeof value !== "string") return undefined;
  const name = value.toLowerCase();
  return TYPES.has(name) ? name : Object.hasOwn(MEANT_TYPES, name) ? MEANT_TYPES[name] : undefined;
}

/** A number, also one that is written as text. */
function numberValue(value: unknown): unknown {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return Number.isFinite(numberOf(number)) ? number : undefined;
}

function countValue(value: unknown): unknown {
  const number = numberValue(value);
  const count = numberOf(number);
  return count !== undefined && count >= 0 && Number.isInteger(count) ? number : undefined;
}

const positive: Reader = (value) => {
  const number = numberValue(value);
  return (numberOf(number) ?? 0) > 0 ? number : undefined;
};
const text: Reader = (value) => (typeof value === "string" ? value : undefined);
const flag: Reader = (value) => (typeof value === "boolean" ? value : undefined);
const list: Reader = (value) => (Array.isArray(value) ? value : undefined);
const names: Reader = (value) =>
  Array.isArray(value) ? [...new Set(value.filter((one) => typeof one === "string"))] : undefined;
const namesByName: Reader = (value) =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([name, one]) => (Array.isArray(one) ? [[name, names(one)]] : [])),
      )
    : undefined;
const nothing: Reader = () => undefined;

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["type", typeValue],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"].map((key) => [key, numberValue] as const),
  ["multipleOf", positive],
  ...["minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"].map(
    (key) => [key, countValue] as const,
  ),
  ...["minProperties", "maxProperties"].map((key) => [key, countValue] as const),
  ...["title", "description", "format", "contentEncoding", "contentMediaType"].map(
    (key) => [key, text] as const,
  ),
  ...["uniqueItems", "deprecated"].map((key) => [key, flag] as const),
  ["examples", list],
  ["enum", (value) => (Array.isArray(value) && value.length > 0 ? value : undefined)],
  ["required", names],
  ["dependentRequired", namesByName],
  ["pattern", (value) => (typeof value === "string" && isRegExp(value) ? value : undefined)],
  // References are converted before; others are none.
  ["$ref", nothing],
  ["$recursiveRef", nothing],
  ["$recursiveAnchor", nothing],
]);

/** It is only compiled: hosts refuse a list with a pattern that is none. */
export function isRegExp(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").source !== "";
  } catch {
    return false;
  }
}
