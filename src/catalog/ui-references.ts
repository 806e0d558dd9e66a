/** The places in `_meta` where a tool or its result names the page (`ui://…`) that shows it. */
import { isObject, type JsonObject, objectAt, stringAt, without } from "../wire/json.js";

/** MCP Apps 2026-01-26 names it in `ui.resourceUri`; the flat keys are its predecessors that hosts still read. */
const FLAT_KEYS = ["ui/resourceUri", "openai/outputTemplate"] as const;

/** JSON text that holds none of these holds no reference. They end the keys: a slash may be written as `\/`. */
export const UI_MARKERS = ['resourceUri"', 'outputTemplate"'] as const;

/** Gives the URI to put in place of one; undefined takes the reference away. */
export type UriMap = (uri: string) => string | undefined;

/**
 * `holder` (a tool, a result) with the references in its `_meta` mapped; the very same object where nothing
 * changes.
 */
export function mapUiReferences(holder: JsonObject, map: UriMap): JsonObject {
  const meta = objectAt(holder, "_meta");
  if (meta === undefined) return holder;
  let mapped = meta;
  for (const key of FLAT_KEYS) mapped = mapKey(mapped, key, map);
  const ui = objectAt(mapped, "ui");
  if (ui !== undefined) {
    const mappedUi = mapKey(ui, "resourceUri", map);
    if (mappedUi !== ui) mapped = { ...mapped, ui: mappedUi };
  }
  return mapped === meta ? holder : { ...holder, _meta: mapped };
}

/** `object` with the string at `key` mapped; the very same object where there is none or it stays. */
export function mapKey(object: JsonObject, key: string, map: UriMap): JsonObject {
  const uri = stringAt(object, key);
  if (uri === undefined) return object;
  const mapped = map(uri);
  if (mapped === uri) return object;
  return mapped === undefined ? without(object, [key]) : { ...object, [key]: mapped };
}

/** `object` with the array at `key` mapped item by item; the very same object where nothing changes. */
export function mapItems(object: JsonObject, key: string, map: (item: JsonObject) => JsonObject): JsonObject {
  const items = Object.hasOwn(object, key) ? object[key] : undefined;
  if (!Array.isArray(items)) return object;
  let changed = false;
  const mapped = items.map((item: unknown) => {
    if (!isObject(item)) return item;
    const next = map(item);
    changed ||= next !== item;
    return next;
  });
  return changed ? { ...object, [key]: mapped } : object;
}
