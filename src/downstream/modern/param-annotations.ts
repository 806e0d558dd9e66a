/**
 * Tools whose `x-mcp-header` annotations break a rule, without them. Hosts must leave such a tool out (2026-07-28,
 * server/tools, "x-mcp-header"); what an older server has under that name was never meant for them.
 */
import { isObject, type JsonObject, objectAt } from "../../wire/json.js";
import { paramHeaders } from "../../wire/param-headers.js";

export const ANNOTATION = "x-mcp-header";

/** The very same object where its annotations are valid, or where it has none. */
export function withValidParamHeaders(tool: JsonObject): JsonObject {
  const schema = objectAt(tool, "inputSchema");
  return paramHeaders(schema).fault === undefined
    ? tool
    : { ...tool, inputSchema: withoutAnnotations(schema) };
}

/** Keywords whose values are schemas by name, where a name may look like a keyword. */
const NAMED = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
/** Keywords whose values are data. */
const DATA = new Set(["const", "enum", "default", "examples"]);

function withoutAnnotations(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutAnnotations);
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).filter(([key]) => key !== ANNOTATION);
  return Object.fromEntries(
    entries.map(([key, value]) => {
      if (DATA.has(key)) return [key, value];
      if (!NAMED.has(key) || !isObject(value)) return [key, withoutAnnotations(value)];
      return [
        key,
        Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutAnnotations(one)])),
      ];
    }),
  );
}
