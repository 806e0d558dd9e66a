import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { glob, nameTest } from "../../src/core/globs.js";

/** What a glob means, written down as slowly and plainly as possible: every expansion of the braces, tried from the left. */
function oracle(pattern: string, name: string): boolean {
  return expansions([...pattern]).some((plain) => matches(plain, [...name]));
}

function matches(pattern: readonly string[], name: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return name.length === 0;
  if (first === "*") return matches(rest, name) || (name.length > 0 && matches(pattern, name.slice(1)));
  return name.length > 0 && (first === "?" || first === name[0]) && matches(rest, name.slice(1));
}

/** Replaces the first group that has a comma and an end by each of its parts. */
function expansions(pattern: readonly string[]): readonly (readonly string[])[] {
  for (let open = 0; open < pattern.length; open++) {
    if (pattern[open] !== "{") continue;
    const cuts = [open];
    let depth = 0;
    for (let at = open; at < pattern.length; at++) {
      if (pattern[at] === "{") depth++;
      if (pattern[at] === "," && depth === 1) cuts.push(at);
      if (pattern[at] !== "}" || --depth > 0) continue;
      if (cuts.length === 1) break;
      const parts = cuts.map((cut, index) => pattern.slice(cut + 1, cuts[index + 1] ?? at));
      // A brace that stayed because its own group was none is a plain character and must not be read again.
      const before = pattern.slice(0, open).map((character) => (character === "{" ? "\0{" : character));
      return parts.flatMap((part) => expansions([...before, ...part, ...pattern.slice(at + 1)]));
    }
  }
  return [pattern.map((character) => (character === "\0{" ? "{" : character))];
}

const pieces = fc.constantFrom("a", "b", "é", "*", "?", "{", ",", "}", "{a,b}", "{*b,a?}", "{,a}");
const pattern = fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join(""));
const name = fc.string({ unit: fc.constantFrom("a", "b", "é", "{", ",", "}", "\n"), maxLength: 8 });

describe("a glob", () => {
  test("matches exactly what its plain meaning says", () => {
    fc.assert(
      fc.property(pattern, name, (text, candidate) => {
        expect(glob(text)(candidate)).toBe(oracle(text, candidate));
      }),
      { seed: 20261120, numRuns: 5_000 },
    );
  });

  test.each([
    ["*", "", true],
    ["read_*", "read_file", true],
    ["read_*", "unread_file", false],
    ["?", "😀", true],
    ["{read,list}_*", "list_all", true],
    ["{read,list}_*", "write_all", false],
    ["{read_{file,dir},list}", "read_dir", true],
    ["file:///{path}", "file:///{path}", true],
    ["file:///{path}", "file:///path", false],
    ["{open", "{open", true],
    ["a.b", "axb", false],
    ["line*end", "line\nend", true],
  ])("%j and %j: %s", (text, candidate, expected) => {
    expect(glob(text)(candidate)).toBe(expected);
  });

  test("takes time linear in the name, whatever the pattern", () => {
    const hostile = [`${"a*".repeat(20)}b`, `${"{a,*}".repeat(200)}b`, `${"*?".repeat(30)}b`];
    for (const text of hostile) {
      const compiled = glob(text);
      const started = performance.now();
      expect(compiled("a".repeat(2_000))).toBe(false);
      // A matcher that goes back needs longer than the sun will last.
      expect(performance.now() - started).toBeLessThan(2_000);
    }
  });

  test("compiles nested braces without writing out what they stand for", () => {
    const text = "{a,b}".repeat(40);
    expect(glob(text)("ab".repeat(20))).toBe(true);
    expect(glob(text)("ab".repeat(20).replace("b", "c"))).toBe(false);
  });
});

describe("a filter", () => {
  test("lets a name pass that an allow glob matches and no deny glob does", () => {
    const passes = nameTest({ allow: ["read_*", "list"], deny: ["*_secret"] });
    expect(["read_file", "list", "write_file", "read_secret"].filter(passes)).toEqual(["read_file", "list"]);
  });

  test("lets nothing pass when nothing is allowed", () => {
    expect(nameTest({ allow: [], deny: [] })("anything")).toBe(false);
  });
});
