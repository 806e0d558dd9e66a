/** What does a schema contain, and is it small enough to be compiled? */
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";

/** Nodes; more than any schema that a model could read. */
const MAX_NODES = 20_000;
const MAX_CHARACTERS = 1_000_000;
const MAX_DEPTH = 128;

/** The anchors of a schema, every key in it, and whether subschemas have an `$id`. */
export function scanSchema(root: unknown) {
  const anchors = new Map<string, JsonObject>();
  const keys = new Set<string>();
  let ids = false;
  const pending: unknown[] = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (Array.isArray(node)) pending.push(...(node as readonly unknown[]).filter(isContainer));
    if (!isObject(node)) continue;
    const anchor = stringAt(node, "$anchor") ?? stringAt(node, "$dynamicAnchor");
    if (anchor !== undefined && !anchors.has(anchor)) anchors.set(anchor, node);
    ids ||= node !== root && typeof node.$id === "string";
    for (const [key, inner] of Object.entries(node)) {
      keys.add(key);
      if (isContainer(inner)) pending.push(inner);
    }
  }
  return { anchors, keys, ids };
}

const isContainer = (value: unknown): boolean => isObject(value) || Array.isArray(value);

/** Whether the schema has at most `MAX_NODES`, `MAX_CHARACTERS` and `MAX_DEPTH`; stops at the first excess. */
export function isWithinSizeLimits(root: unknown): boolean {
  let nodes = 0;
  let characters = 0;
  const pending: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 0 }];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const { value, depth } = node;
    nodes += 1;
    if (typeof value === "string") characters += value.length;
    if (nodes > MAX_NODES || characters > MAX_CHARACTERS || depth > MAX_DEPTH) return false;
    if (!isContainer(value)) continue;
    const object = value as JsonObject;
    const keys = Object.keys(object);
    if (nodes + pending.length + keys.length > MAX_NODES) return false;
    for (const key of keys) {
      characters += key.length;
      pending.push({ value: object[key], depth: depth + 1 });
    }
  }
  return true;
}
