/**
 * RE2: regular expressions matched in time linear in the text. The library takes 3 MiB, so it is loaded with the first
 * pattern; most gateways have none.
 */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";

export type { RE2JS } from "re2js";

type Library = typeof import("re2js");

const require = createRequire(import.meta.url);

/**
 * Compiles a pattern in RE2's syntax. With `dotAll`, a dot matches line breaks too.
 *
 * @throws RE2JSSyntaxException if RE2 does not support the pattern
 */
export function compileRe2(pattern: string, { dotAll = false } = {}): RE2JS {
  const RE2 = library();
  return RE2.compile(pattern, dotAll ? RE2.DOTALL : 0);
}

/**
 * The same for a pattern of the config.
 *
 * @throws SyntaxError that tells its author why RE2 does not support it
 */
export function compilePattern(pattern: string): RE2JS {
  try {
    return compileRe2(pattern);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "unknown error";
    throw new SyntaxError(`the pattern is not supported by RE2: ${why}`, { cause });
  }
}

/** The same for a pattern in ECMAScript's syntax. */
export function compileEcmaScript(pattern: string): RE2JS {
  const RE2 = library();
  return RE2.compile(RE2.translateRegExp(pattern));
}

/** Blocks on the disk once: patterns are compiled before the first call. */
const library = (): Library["RE2JS"] => (require("re2js") as Library).RE2JS;
