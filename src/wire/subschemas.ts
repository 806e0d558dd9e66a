/** Which members of a JSON Schema are schemas themselves, for code that rewrites a schema. */
import { isObject, type JsonObject } from "./json.js";

/** Keywords whose values are data, in which a keyword is a member like any other. */
const DATA = new Set(["const", "enum", "default", "examples"]);
/** Keywords whose values are schemas by name, where a name may look like a keyword. */
const SCHEMAS_BY_NAME = new Set([
  ...["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"],
]);

/** The schema with `change` applied to the value of each keyword that is no data: a schema, a list of them, or a scalar. */
export const mapSubschemas = (schema: JsonObject, change: (value: unknown) => unknown): JsonObject =>
  mapValues(schema, (keyword, value) => {
    if (DATA.has(keyword)) return value;
    return SCHEMAS_BY_NAME.has(keyword) && isObject(value)
      ? mapValues(value, (_name, schemaOfName) => change(schemaOfName))
      : change(value);
  });

const mapValues = (object: JsonObject, change: (key: string, value: unknown) => unknown): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(key, value)]));
