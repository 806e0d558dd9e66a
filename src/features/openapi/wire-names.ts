/** How do servers read the names of queries, forms and JSON, and which names do all of them read alike? */
import { foldedName } from "../../wire/case-folding.js";

/** Whether some framework takes a field or header of this name for the method of the request: `_method`, `X-HTTP-Method-Override`. */
export const isMethodOverride = (name: string): boolean =>
  /^(_(http[-_])?method|[-_]?(x[-_])?(http[-_])?method[-_]override|_?x[-_](http[-_])?method)$/i.test(name);

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

/** More rounds of percent-encoding than proxies and servers take off. */
const MAX_DECODINGS = 4;

/** The text without percent-encoding, of however many rounds; what is no UTF-8 stays. */
export function decodedText(text: string): string {
  let decoded = text;
  for (let round = 0; round < MAX_DECODINGS && decoded.includes("%"); round++)
    decoded = decoded.replace(/(?:%[0-9a-f]{2})+/gi, decodedOctets);
  return decoded;
}

function decodedOctets(octets: string): string {
  try {
    return decodeURIComponent(octets);
  } catch {
    return octets.replaceAll(/%([2-7][0-9a-f])/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
  }
}
