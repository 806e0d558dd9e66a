/** What is a tool without its `x-mcp-header` annotations, for servers on a pipe? */ import {
  isObject,
  type JsonObject,
  objectAt,
} from "../../wire/json.js";
import { isAnnotated } from "../../wire/mirrored-headers.js";

const ANNOTATION = "x-mcp-header";

/** The same object when it has none. Only positions where an annotation can be valid are searched. */
export function withoutParamHeaders(tool: JsonObject): JsonObject {
  const schema = objectAt(tool, "inputSchema");
  if (schema === undefined || !isAnnotated(schema)) return tool;
  const stripped = strip(schema);
  return stripped === schema ? tool : { ...tool, inputSchema: stripped };
}

function strip(schema: JsonObject): JsonObject {
  let changed = Object.hasOwn(schema, ANNOTATION);
  const entries = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (key === ANNOTATION) return [];
    if (key !== "properties" || !isObject(value)) return [[key, value]];
    const properties = Object.entries(value).map(([name, property]): [string, unknown] => {
      const inner = isObject(property) ? strip(property) : property;
      changed ||= inner !== property;
      return [name, inner];
    });
    return [[key, Object.fromEntries(properties)]];
  });
  return changed ? Object.fromEntries(entries) : schema;
}
