/** How do servers read the names of queries, forms and JSON, and which names do all of them read alike? */
import { foldedName } from "../../wire/case-folding.js";

/** Whether some framework takes a field of this name for the method of the request. */
export const isMethodOverride = (name: string): boolean =>
  /^_?(x[-_])?(http[-_])?method([-_]override)?$/i.test(name) && !/^method$/i.test(name);

/** What some reader treats as its own instead of as a field: charsets, and members of JavaScript's objects. */
const READ_AS_COMMANDS: ReadonlySet<string> = new Set(
  ["utf8", "charset", "prototype", "globals", "this", ...Object.getOwnPropertyNames(Object.prototype)].map(
    (name) => name.toLowerCase(),
  ),
);

/**
 * Whether all known readers (qs, Rack, PHP, Go, Python) read the name as itself, so that a caller may choose it. They
 * differ on brackets, dots, spaces, `+`, `%`, NUL and numbers; names that begin with `_` (`_method`) are often commands.
 */
export const isPlainName = (name: string): boolean =>
  /^[A-Za-z][A-Za-z0-9_-]*$/.test(name) &&
  !READ_AS_COMMANDS.has(name.toLowerCase()) &&
  !isMethodOverride(name);

/** One text for all names of a query or a form that some reader takes for each other: PHP reads `a b`, `a.b` and `a[b` as `a_b`. */
export const foldedField = (name: string): string =>
  foldedName(name)
    .trim()
    .replace(/[ .[\]+-]/g, "_");
