/** Whether a URI, in each of its readings (core/uri-readings.ts), matches a set of globs. */

import { partsOf } from "../core/uri-parts.js";
import { hasSingleReading, readingsOf } from "../core/uri-readings.js";
import { glob, type NameFilter, type NameMatcher } from "./globs.js";

/** A compiled set of globs over URIs. */
export class UriGlobs {
  readonly #literals: ReadonlySet<string>;
  readonly #written: readonly NameMatcher[];
  readonly #allowing: readonly NameMatcher[];
  readonly #restricting: readonly NameMatcher[];

  constructor(patterns: readonly string[]) {
    const written = patterns.flatMap((pattern) => [pattern, withoutEscapes(pattern)]);
    this.#literals = new Set(patterns);
    this.#written = compiled(written);
    this.#allowing = compiled([...written, ...patterns.flatMap((pattern) => formsOf(pattern, true))]);
    this.#restricting = compiled([...written, ...patterns.flatMap((pattern) => formsOf(pattern, false))]);
  }

  /** Whether one of the patterns equals the URI. */
  has(uri: string): boolean {
    return this.#literals.has(uri);
  }

  /** Whether they allow a URI as written. Its other readings must be allowed too: `allowsReading`. */
  allows(uri: string): boolean {
    return this.#written.some((matches) => matches(uri));
  }

  /** Whether they allow a reading of a URI that they allow as written. */
  allowsReading(reading: string): boolean {
    return this.#allowing.some((matches) => matches(reading));
  }

  /** Whether a rule or filter that denies by these globs denies this reading. */
  restricts(reading: string): boolean {
    return this.#restricting.some((matches) => matches(reading));
  }
}

/** Compiles a filter over URIs: what passes is allowed in each of its readings, and denied in none. */
export function uriTest({ allow, deny }: NameFilter): NameMatcher {
  const everything = allow.includes("*");
  if (everything && deny.length === 0) return () => true;
  const allowed = new UriGlobs(allow);
  const denied = new UriGlobs(deny);
  return (uri) => {
    if (hasSingleReading(uri)) return allowed.allows(uri) && !denied.restricts(uri);
    const { all, alike, complete } = readingsOf(uri);
    const isDenied = (reading: string): boolean => denied.restricts(reading);
    if (deny.length > 0 && (!complete || all.some(isDenied) || alike.some(isDenied))) return false;
    if (everything || allowed.has(uri)) return true;
    return complete && allowed.allows(uri) && all.every((reading) => allowed.allowsReading(reading));
  };
}

const compiled = (patterns: readonly string[]): readonly NameMatcher[] => [...new Set(patterns)].map(glob);

/** The pattern without needless percent-escapes; those of wildcards and of delimiters stay. */
const withoutEscapes = (pattern: string): string =>
  pattern.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    const text = Buffer.from(run.replaceAll("%", ""), "hex").toString("utf8");
    return /[*?{},/\\%#\p{Cc}\uFFFD]/u.test(text) ? run : text;
  });

/**
 * The pattern in the forms that other URI parsers would read: its folder, up to the first wildcard, in all readings.
 * So `file://localhost/a/*` covers `file:///a/b` too.
 *
 * An allowing pattern that names a host or a query also covers the readings without them; a restricting one does not.
 */
function formsOf(pattern: string, allowing: boolean): readonly string[] {
  const stem = /^[^*{]*/.exec(pattern)?.[0] ?? "";
  const forms: string[] = [];
  const mark = stem.search(/[?#]/);
  if (allowing && mark > 0) forms.push(pattern.slice(0, mark));
  const beforeMark = mark < 0 ? stem : stem.slice(0, mark);
  const folder = beforeMark.slice(0, beforeMark.lastIndexOf("/") + 1);
  const { scheme, authority, path } = partsOf(folder) ?? {};
  if (scheme === undefined || !path?.endsWith("/")) return forms;
  const owned = /^file$/i.test(scheme) ? /^(?:localhost)?$/i : /^[^@]*$/;
  if (!allowing && !owned.test(authority ?? "")) return forms;
  const rest = pattern.slice(folder.length);
  for (const reading of readingsOf(folder).all) forms.push(reading + rest, reading + withoutEscapes(rest));
  return forms;
}
