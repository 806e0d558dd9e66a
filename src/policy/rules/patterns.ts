/** The patterns of the config, each compiled once by an engine that cannot be made to hang (RE2). */
import { LRUCache } from "lru-cache";
import { compileRe2, type RE2JS } from "../../patterns/re2.js";
import { entryLimit } from "../../runtime/cache-limits.js";

/** All patterns are literals of the config; the bound only keeps many reloads from adding up. */
const compiled = new LRUCache<string, RE2JS>(entryLimit(5_000));

/** @throws SyntaxError when RE2 does not take the pattern. */
export function compilePattern(pattern: string): RE2JS {
  let made = compiled.get(pattern);
  if (made === undefined) {
    try {
      made = compileRe2(pattern);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : "unknown error";
      throw new SyntaxError(`the pattern is not one that RE2 takes: ${why}`, { cause });
    }
    compiled.set(pattern, made);
  }
  return made;
}
