/** The tools of a URL for the models that get them: each input schema as their family takes it. */
import { type Steps, Work } from "../../runtime/cooperative-yield.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import { type ExposedItem, Snapshot } from "../view.js";
import type { SchemaDialect } from "./families.js";
import { type Reshaped, reshape } from "./reshape.js";

/** Schemas never change, and are shown in many lists. */
const known = new WeakMap<JsonObject, Map<SchemaDialect, Reshaped>>();

/** What one schema inside another costs, in characters searched. */
const WORK_OF_SCHEMA = 80;

/** The same list where nothing changes. */
export function reshapedTools(list: Snapshot, dialect: SchemaDialect): Snapshot {
  const entries = list.entries.map((entry): ExposedItem => {
    const own = objectAt(entry.item, "inputSchema");
    const inputSchema = own && reshapedOnce(own, dialect).schema;
    return inputSchema === own ? entry : { ...entry, item: { ...entry.item, inputSchema } };
  });
  return entries.some((entry, at) => entry !== list.entries[at]) ? new Snapshot(list.kind, entries) : list;
}

/** Reshapes the schemas of a list in steps, so that `reshapedTools` is cheap afterwards. */
export function* reshapeInSteps(list: Snapshot, dialect: SchemaDialect): Steps<void> {
  const work = new Work();
  for (const { item } of list.entries) {
    const own = objectAt(item, "inputSchema");
    if (own === undefined || known.get(own)?.has(dialect) === true) continue;
    yield* work.spend(WORK_OF_SCHEMA * reshapedOnce(own, dialect).count);
  }
}

function reshapedOnce(schema: JsonObject, dialect: SchemaDialect): Reshaped {
  const byDialect = known.get(schema) ?? new Map<SchemaDialect, Reshaped>();
  const before = byDialect.get(dialect);
  if (before !== undefined) return before;
  const made = reshape(schema, dialect);
  byDialect.set(dialect, made);
  known.set(schema, byDialect);
  return made;
}
