/** Whether a name matches a glob (`*`, `?`, `{a,b}`), in time linear in the name for every pattern. */
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

/**
 * Compiles one glob. `*` matches any run of characters, `?` exactly one, `{a,b}` either part, which may hold
 * wildcards and braces of its own. Braces without a comma and braces that never close are plain characters.
 *
 * @throws RE2JSSyntaxException when braces nest about a thousand levels deep; the config schema allows 100 braces
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
