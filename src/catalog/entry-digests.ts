/** What are the digests of list entries? Each is made once, those of a large list in steps. */
import { hash } from "node:crypto";
import { type Steps, Work } from "../runtime/cooperative-yield.js";
import type { JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";

/** Module-wide on purpose: an entry has one digest, whichever config or scope shows it. */
const digests = new WeakMap<JsonObject, string>();

/** Characters that are hashed at the cost of one that is searched in JavaScript: 1 MiB in a step, about 5 ms. */
const HASHED = 32;

/** What an entry costs besides, in the same unit: 4,000 entries in a step. */
const ENTRY_WORK = 8;

/** Makes the digests of `items`, in steps. */
export function* digestEntries(items: readonly JsonObject[]): Steps<void> {
  const work = new Work();
  for (const item of items) {
    if (digests.has(item)) continue;
    const text = writeJson(item);
    digests.set(item, digestOf(text));
    if (work.mustYield(ENTRY_WORK + text.length / HASHED)) yield;
  }
}

/** The digest of a list: the same for lists of the same entries in the same order. */
export function listDigest(items: readonly JsonObject[]): string {
  // One text: ten thousand updates take 15 ms.
  return digestOf(items.map(entryDigest).join(""));
}

/** Whether two lists have the same entries in the same order. */
export const areSameEntries = (some: readonly JsonObject[], others: readonly JsonObject[]): boolean =>
  some.length === others.length &&
  some.every((item, at) => item === others[at] || entryDigest(item) === entryDigest(others[at] ?? {}));

function entryDigest(item: JsonObject): string {
  let digest = digests.get(item);
  if (digest === undefined) {
    digest = digestOf(writeJson(item));
    digests.set(item, digest);
  }
  return digest;
}

const digestOf = (text: string): string => hash("sha256", text, "base64");
