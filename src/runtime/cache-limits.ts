/**
 * How is the memory of caches bounded? By LRU limits that allocate no memory in advance (with `max`, lru-cache allocates
 * 27 bytes per possible entry), by short keys, and by copies instead of slices.
 */
import { hash } from "node:crypto";

const ONE = (): number => 1;

/** Options of an LRU cache with at most `entries` entries. */
export const entryLimit = (entries: number) => ({ maxSize: entries, sizeCalculation: ONE });

/** Options of an LRU cache with at most `entries` entries and `characters` in all keys together. */
export function entryAndKeyLimit(entries: number, characters: number) {
  const least = Math.ceil(characters / entries);
  return {
    maxSize: characters,
    sizeCalculation: (_value: unknown, key: string): number => Math.max(key.length, least),
  };
}

/** From this length (characters) on V8 slices instead of copying; a slice keeps the whole text in memory. */
const MIN_SLICE_LENGTH = 13;

/** A copy of the text that does not keep a larger text, of which it was a slice, in memory. */
export const retainedCopy = (text: string): string =>
  text.length < MIN_SLICE_LENGTH ? text : Buffer.from(text, "utf16le").toString("utf16le");

/** Longer keys (characters) are replaced by their digest. */
const MAX_KEY_LENGTH = 128;

/** A cache key of bounded length: the text, or its SHA-256 where it is long. */
export const boundedKey = (text: string): string =>
  text.length <= MAX_KEY_LENGTH ? text : `sha256:${hash("sha256", text, "base64url")}`;
