/** Globs over names and URIs (`*`, `?`, `{a,b}`), matched in time linear in the name, whatever the pattern. */

import { ANY, GlobAutomaton, type State } from "./glob-automaton.js";

/** Which names pass: those that an `allow` glob matches and no `deny` glob does. */
export interface NameFilter {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** Whether a name passes a filter. */
export type NameMatcher = (name: string) => boolean;

/** Compiles a filter once, so that judging a name costs only the matching. */
export function nameMatcher(filter: NameFilter): NameMatcher {
  const allow = filter.allow.map(glob);
  const deny = filter.deny.map(glob);
  return (name) => allow.some((matches) => matches(name)) && !deny.some((matches) => matches(name));
}

/**
 * Compiles one glob. `*` matches any run of characters, `?` exactly one, `{a,b}` either part, which may hold
 * wildcards and braces of its own. Braces without a comma and braces that never close are plain characters.
 */
export function glob(pattern: string): NameMatcher {
  if (pattern === "*") return () => true;
  if (!/[*?{]/.test(pattern)) return (name) => name === pattern;
  if (!/[?{]/.test(pattern)) return starPattern(pattern.split("*"));
  const machine = new GlobAutomaton(compile([...pattern]));
  return (name) => machine.matches(name);
}

/** Patterns with no wildcard but `*`, which most are: each part is looked for behind the one before it. */
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

/** The states of a pattern, built from its end backwards, so that each state knows what follows it. */
function compile(characters: readonly string[]): State {
  const accept: State = { next: [], accepts: true };
  return sequence(characters, 0, characters.length, accept);
}

function sequence(characters: readonly string[], from: number, to: number, then: State): State {
  const pieces: ((then: State) => State)[] = [];
  for (let at = from; at < to; at++) {
    const character = characters[at] as string;
    const group = character === "{" ? groupAt(characters, at, to) : undefined;
    if (group !== undefined) {
      pieces.push((rest) => ({ next: group.parts.map(([a, b]) => sequence(characters, a, b, rest)) }));
      at = group.end;
    } else if (character === "*") pieces.push(anyRun);
    else if (character === "?") pieces.push((rest) => ({ on: ANY, next: [rest] }));
    else pieces.push((rest) => ({ on: character, next: [rest] }));
  }
  return pieces.reduceRight((rest, piece) => piece(rest), then);
}

function anyRun(rest: State): State {
  const again: State[] = [rest];
  const state: State = { next: again };
  again.push({ on: ANY, next: [state] });
  return state;
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
