/** An output schema whose root is no object, as hosts before 2026-07-28 can take it (SEP-2106). */
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";

export const hasObjectRoot = (schema: JsonObject): boolean => schema.type === "object";

/** The schema of `{ result: … }`, where `result` is what `schema` describes. */
export function wrapOutputSchema(schema: JsonObject): JsonObject {
  const dialect = stringAt(schema, "$schema");
  return {
    // Which dialect a document is in is asked of its root.
    ...(dialect !== undefined && { $schema: dialect }),
    type: "object",
    properties: { result: isBase(schema) ? schema : moved(schema) },
    required: ["result"],
  };
}

const MOVED_ROOT = "#/properties/result";

/** Keywords whose values are data, in which `$ref` is a member like any other. */
const DATA = new Set(["const", "enum", "default", "examples"]);
/** Keywords whose values are schemas by name, where a name may look like a keyword. */
const NAMED = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);

/**
 * References from the root of the document lead one step further down now. Anchors move with the schema, and
 * whatever has an `$id` of its own is the root of its own references.
 */
function moved(schema: JsonObject): JsonObject {
  return mapValues(schema, (keyword, value) => {
    if (keyword === "$ref" || keyword === "$dynamicRef")
      return typeof value === "string" ? movedRef(value) : value;
    if (DATA.has(keyword)) return value;
    if (NAMED.has(keyword) && isObject(value)) return mapValues(value, (_name, named) => movedIn(named));
    return movedIn(value);
  });
}

function movedIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(movedIn);
  return isObject(value) && !isBase(value) ? moved(value) : value;
}

function movedRef(ref: string): string {
  if (ref === "#") return MOVED_ROOT;
  return ref.startsWith("#/") ? MOVED_ROOT + ref.slice(1) : ref;
}

/** An `$id` that is only a fragment is an anchor in older dialects, and no base. */
const isBase = (schema: JsonObject): boolean => {
  const id = stringAt(schema, "$id");
  return id !== undefined && !id.startsWith("#");
};

const mapValues = (object: JsonObject, change: (key: string, value: unknown) => unknown): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(key, value)]));
