/** Does a name or a URI match a glob (`*`, `?`, `{a,b}`), in time linear in it? A URI is matched in each of its readings. */

import { partsOf } from "../core/uri-parts.js";
import { hasSingleReading, readingsOf } from "../core/uri-readings.js";
import { compileRe2 } from "./re2.js";

/** Which names pass: those that an `allow` glob matches and no `deny` glob does. */
export interface NameFilter {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** Whether a name passes a filter. */
export type NameMatcher = (name: string) => boolean;

/** Compiles a filter over names. */
export function nameMatcher(filter: NameFilter): NameMatcher {
  const allow = filter.allow.map(glob);
  const deny = filter.deny.map(glob);
  return (name) => allow.some((matches) => matches(name)) && !deny.some((matches) => matches(name));
}

/** What no name ends with, to find globs that match whatever follows. */
const ANY_END = "\u{10FFFD}\u{10FFFC}";

/** Whether a name that begins with `start` can pass a filter; in doubt true. */
export const canPass = ({ allow, deny }: NameFilter, start: string): boolean =>
  allow.some((pattern) => canBeginWith(pattern, start)) &&
  !deny.some((pattern) => glob(pattern)(start + ANY_END));

function canBeginWith(pattern: string, start: string): boolean {
  const wild = pattern.search(/[*?{]/);
  const stem = wild === -1 ? pattern : pattern.slice(0, wild);
  return stem.startsWith(start) || (wild !== -1 && start.startsWith(stem));
}

/**
 * Compiles one glob. `*` matches any run of characters, `?` exactly one, `{a,b}` either part, which may hold
 * wildcards and braces of its own. Braces without a comma and braces that never close are plain characters.
 *
 * @throws RE2JSSyntaxException if braces nest about a thousand levels deep; the config schema allows 100 braces
 */
export function glob(pattern: string): NameMatcher {
  if (pattern === "*") return () => true;
  if (!/[*?{]/.test(pattern)) return (name) => name === pattern;
  if (!/[?{]/.test(pattern)) return starPattern(pattern.split("*"));
  const compiled = compileRe2(regExpOf([...pattern]), { dotAll: true });
  return (name) => compiled.matches(name);
}

/** Patterns with no wildcard but `*` need no RE2: each part is searched behind the one before it. */
function starPattern(parts: readonly string[]): NameMatcher {
  const first = parts[0] ?? "";
  const last = parts.at(-1) ?? "";
  const inner = parts.slice(1, -1);
  return (name) => {
    if (!name.startsWith(first)) return false;
    let at = first.length;
    for (const part of inner) {
      const found = name.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return name.length - last.length >= at && name.endsWith(last);
  };
}

/** The same glob in RE2's syntax. */
function regExpOf(characters: readonly string[], from = 0, to = characters.length): string {
  let source = "";
  for (let at = from; at < to; at++) {
    const character = characters[at] as string;
    const group = character === "{" ? groupAt(characters, at, to) : undefined;
    if (group !== undefined) {
      source += `(?:${group.parts.map(([start, end]) => regExpOf(characters, start, end)).join("|")})`;
      at = group.end;
    } else if (character === "*") source += ".*";
    else if (character === "?") source += ".";
    else source += character.replace(/[\\^$.|?*+()[\]{}]/, "\\$&");
  }
  return source;
}

/** The parts of the group that opens at `open`, or undefined when it has no comma or no end. */
function groupAt(characters: readonly string[], open: number, to: number) {
  const commas: number[] = [];
  let depth = 0;
  for (let at = open; at < to; at++) {
    if (characters[at] === "{") depth++;
    else if (characters[at] === "," && depth === 1) commas.push(at);
    else if (characters[at] === "}" && --depth === 0) {
      if (commas.length === 0) return undefined;
      const bounds = [open, ...commas, at];
      const parts = bounds.slice(1).map((end, index) => [(bounds[index] as number) + 1, end] as const);
      return { parts, end: at };
    }
  }
  return undefined;
}

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
