/** The tools of a URL for the models that get them: each input schema as their family takes it. */
import type { EndpointForm } from "../../../core/tool-forms.js";
import { type JsonObject, objectAt } from "../../../wire/json.js";
import type { SchemaDialect } from "./families.js";
import { type Reshaped, reshape } from "./reshape.js";

/** Schemas never change, and are shown in many lists. */
const known = new WeakMap<JsonObject, Map<SchemaDialect, Reshaped>>();

/** What one schema inside another costs, in characters searched. */
const WORK_OF_SCHEMA = 80;

/** Entries whose input schema has the form for a family. */
export const dialectForm = (dialect: SchemaDialect): EndpointForm => ({
  show(item) {
    const own = objectAt(item, "inputSchema");
    const inputSchema = own && reshapedOnce(own, dialect).schema;
    return inputSchema === own ? item : { ...item, inputSchema };
  },
  prepare(item) {
    const own = objectAt(item, "inputSchema");
    if (own === undefined || known.get(own)?.has(dialect) === true) return 0;
    return WORK_OF_SCHEMA * reshapedOnce(own, dialect).count;
  },
});

function reshapedOnce(schema: JsonObject, dialect: SchemaDialect): Reshaped {
  const byDialect = known.get(schema) ?? new Map<SchemaDialect, Reshaped>();
  const before = byDialect.get(dialect);
  if (before !== undefined) return before;
  const made = reshape(schema, dialect);
  byDialect.set(dialect, made);
  known.set(schema, byDialect);
  return made;
}
