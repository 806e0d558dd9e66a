/** A cache that is bounded in number, and takes no room before there is something in it. */
import { LRUCache } from "lru-cache";
import { expect, test } from "vitest";
import { entryAndKeyLimit, entryLimit } from "../../src/runtime/cache-limits.js";

test("the least recently used entry is evicted for one too many", () => {
  const cache = new LRUCache<string, number>(entryLimit(3));
  for (const [value, key] of ["a", "b", "c"].entries()) cache.set(key, value);
  cache.get("a");
  cache.set("d", 3);
  expect([...cache.keys()].sort()).toEqual(["a", "c", "d"]);
});

test("an entry that is set again counts once", () => {
  const cache = new LRUCache<string, number>(entryLimit(2));
  for (const value of [1, 2, 3]) cache.set("a", value);
  cache.set("b", 1);
  expect([...cache.entries()].sort()).toEqual([
    ["a", 3],
    ["b", 1],
  ]);
});

test("where characters are counted too, many short keys and few long ones are both too much", () => {
  const cache = new LRUCache<string, number>(entryAndKeyLimit(4, 40));
  for (const key of ["a", "b", "c", "d", "e"]) cache.set(key, 1);
  expect([...cache.keys()]).toEqual(["e", "d", "c", "b"]);
  cache.set("f".repeat(25), 1);
  expect([...cache.keys()].map((key) => key.charAt(0))).toEqual(["f", "e"]);
});
