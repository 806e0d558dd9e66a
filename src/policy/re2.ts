/** RE2, the engine that cannot be made to hang. It is large, so it is loaded when the first pattern needs it; most gateways have none. */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";

export type { RE2JS } from "re2js";

type Library = typeof import("re2js");

const require = createRequire(import.meta.url);

/** @throws RE2JSSyntaxException when RE2 does not take the pattern. */
export const compileRe2 = (pattern: string): RE2JS => library().compile(pattern);

/** The same for a pattern as ECMAScript writes it. */
export function compileEcmaScript(pattern: string): RE2JS {
  const RE2 = library();
  return RE2.compile(RE2.translateRegExp(pattern));
}

/** Waits for the disk: patterns are compiled before anybody calls. */
const library = (): Library["RE2JS"] => (require("re2js") as Library).RE2JS;
