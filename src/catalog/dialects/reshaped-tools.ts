/** The tools of a URL for the models that get them: each input schema as their family takes it. */

import type { JsonObject } from "../../wire/json.js";
import { objectAt } from "../../wire/json.js";
import { type ExposedItem, Snapshot } from "../view.js";
import type { SchemaDialect } from "./families.js";
import { reshape } from "./reshape.js";

/** List entries never change, and are shown in many lists. */
const shown = new WeakMap<JsonObject, Map<SchemaDialect, JsonObject>>();

/** The same list where nothing changes. */
export function reshapedTools(list: Snapshot, dialect: SchemaDialect): Snapshot {
  const entries = list.entries.map((entry): ExposedItem => {
    const item = reshapedTool(entry.item, dialect);
    return item === entry.item ? entry : { ...entry, item };
  });
  return entries.some((entry, at) => entry !== list.entries[at]) ? new Snapshot(list.kind, entries) : list;
}

function reshapedTool(item: JsonObject, dialect: SchemaDialect): JsonObject {
  const known = shown.get(item) ?? new Map<SchemaDialect, JsonObject>();
  const before = known.get(dialect);
  if (before !== undefined) return before;
  const schema = objectAt(item, "inputSchema");
  const { schema: inputSchema } = schema === undefined ? {} : reshape(schema, dialect);
  const made = inputSchema === undefined || inputSchema === schema ? item : { ...item, inputSchema };
  known.set(dialect, made);
  shown.set(item, known);
  return made;
}
