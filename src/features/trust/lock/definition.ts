/** The part of a list entry that is approved, in one form, and by which digest it is known. */
import { hash } from "node:crypto";
import { LISTS, type ListKind } from "../../../core/lists.js";
import { type Steps, Work } from "../../../runtime/cooperative-yield.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../../wire/json.js";
import { canonicalText } from "../../../wire/json-text.js";
import { OWN_META } from "../../../wire/names.js";

/** Module-wide on purpose: an entry never changes, whichever config or scope shows it. */
const digests = new WeakMap<JsonObject, string>();

/**
 * The definition in a list entry: all of it but what changes with the content of a resource (its size, when it was modified), and the
 * gateway's own metadata. The same object if it has none of these.
 */
export function definitionOf(kind: ListKind, item: JsonObject): JsonObject {
  const named = withoutMember(item, "_meta", OWN_META.hops);
  if (kind !== "resources") return named;
  return withoutMember(without(named, ["size"]), "annotations", "lastModified");
}

/** `holder` without a member of an object in it, and without that object if nothing else is in it. */
function withoutMember(holder: JsonObject, key: string, member: string): JsonObject {
  const inner = objectAt(holder, key);
  if (inner === undefined || !Object.hasOwn(inner, member)) return holder;
  const rest = without(inner, [member]);
  return Object.keys(rest).length === 0 ? without(holder, [key]) : { ...holder, [key]: rest };
}

/** The digest of the definition in a list entry, in any order of keys. Made once for each entry. */
export function definitionDigest(kind: ListKind, item: JsonObject): string {
  let digest = digests.get(item);
  if (digest === undefined) {
    digest = hash("sha256", canonicalText(definitionOf(kind, item)), "base64");
    digests.set(item, digest);
  }
  return digest;
}

/** Characters that are written and hashed at the cost of one that is searched in JavaScript. */
const WRITTEN = 8;
const ENTRY_WORK = 32;

/** Makes the digests of `items`, in steps. */
export function* digestDefinitions(kind: ListKind, items: readonly JsonObject[]): Steps<void> {
  const work = new Work();
  for (const item of items) {
    if (digests.has(item)) continue;
    const text = canonicalText(definitionOf(kind, item));
    digests.set(item, hash("sha256", text, "base64"));
    if (work.mustYield(ENTRY_WORK + text.length / WRITTEN)) yield;
  }
}

/** The server's own name or URI of an entry; empty if it has none. */
export const nameOf = (kind: ListKind, item: JsonObject): string => stringAt(item, LISTS[kind].key) ?? "";

/** The value with the keys of all objects sorted. */
export function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortedKeys(value[key])]),
  );
}
