/**
 * How much an LRU cache may hold, told so that it takes room for entries as they come: with `max` lru-cache takes 27
 * bytes for each that there may ever be, at once.
 */

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
