/** A tool's schemas as hosts before 2026-07-28 can take them: to those a property is described by an object. */
import { type JsonObject, objectAt } from "../../wire/json.js";

/** What `true` and `false` say as schemas (2020-12, 4.3.2). */
const ANYTHING: JsonObject = {};
const NOTHING: JsonObject = { not: {} };

/** The tool with objects in the place of boolean schemas in `properties`; the very same where there are none. */
export function withObjectSchemas(tool: JsonObject): JsonObject {
  return ["inputSchema", "outputSchema"].reduce(objectSchemas, tool);
}

function objectSchemas(tool: JsonObject, key: string): JsonObject {
  const schema = objectAt(tool, key);
  const properties = objectAt(schema, "properties");
  if (properties === undefined || !Object.values(properties).some(isBoolean)) return tool;
  const objects = Object.entries(properties).map(([name, one]) => [
    name,
    isBoolean(one) ? asObject(one) : one,
  ]);
  return { ...tool, [key]: { ...schema, properties: Object.fromEntries(objects) } };
}

const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";
const asObject = (schema: boolean): JsonObject => (schema ? ANYTHING : NOTHING);
