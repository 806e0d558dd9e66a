/**
 * How much an LRU cache may hold, told so that it takes room for entries as they come: with `max` lru-cache takes 27
 * bytes for each that there may ever be, at once.
 */
import { hash } from "node:crypto";

const ONE = (): number => 1;

/** So many entries. */
export const entryLimit = (entries: number) => ({ maxSize: entries, sizeCalculation: ONE });

/** So many entries, under keys of so many characters together. */
export function entryAndKeyLimit(entries: number, characters: number) {
  const least = Math.ceil(characters / entries);
  return {
    maxSize: characters,
    sizeCalculation: (_value: unknown, key: string): number => Math.max(key.length, least),
  };
}

/** V8 makes a slice of a text, which keeps the whole of it, from so many characters on. */
const MIN_SLICE_LENGTH = 13;

/** A copy that holds on to nothing else: a slice of a text of 4 MB keeps all of it. */
export const retainedCopy = (text: string): string =>
  text.length < MIN_SLICE_LENGTH ? text : Buffer.from(text, "utf16le").toString("utf16le");

/** A longer key is kept as its digest. */
const MAX_KEY_LENGTH = 128;

/** The key under which something is kept: as short as a digest, however long what it stands for. */
export const boundedKey = (text: string): string =>
  text.length <= MAX_KEY_LENGTH ? text : `sha256:${hash("sha256", text, "base64url")}`;
