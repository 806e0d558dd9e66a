/** What there is in a schema, seen before anybody compiles it. */
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";

/** More parts than any schema that a model could read. */
const MOST_NODES = 20_000;
const MOST_CHARACTERS = 1_000_000;
const DEEPEST = 128;

/** The names that a schema gives to its parts, every key in it, and whether parts of it have addresses of their own. */
export function survey(root: unknown) {
  const anchors = new Map<string, JsonObject>();
  const keys = new Set<string>();
  let ids = false;
  const places: unknown[] = [root];
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    if (Array.isArray(place)) places.push(...(place as readonly unknown[]).filter(isContainer));
    if (!isObject(place)) continue;
    const anchor = stringAt(place, "$anchor") ?? stringAt(place, "$dynamicAnchor");
    if (anchor !== undefined && !anchors.has(anchor)) anchors.set(anchor, place);
    ids ||= place !== root && typeof place.$id === "string";
    for (const [key, inner] of Object.entries(place)) {
      keys.add(key);
      if (isContainer(inner)) places.push(inner);
    }
  }
  return { anchors, keys, ids };
}

const isContainer = (value: unknown): boolean => isObject(value) || Array.isArray(value);

/** Whether it is of a size to be compiled; stops looking as soon as it is sure. */
export function isModest(root: unknown): boolean {
  let nodes = 0;
  let characters = 0;
  const places: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 0 }];
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const { value, depth } = place;
    nodes += 1;
    if (typeof value === "string") characters += value.length;
    if (nodes > MOST_NODES || characters > MOST_CHARACTERS || depth > DEEPEST) return false;
    if (!isContainer(value)) continue;
    const object = value as JsonObject;
    const keys = Object.keys(object);
    if (nodes + places.length + keys.length > MOST_NODES) return false;
    for (const key of keys) {
      characters += key.length;
      places.push({ value: object[key], depth: depth + 1 });
    }
  }
  return true;
}
