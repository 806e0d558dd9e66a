import { describe, expect, test } from "vitest";
import { glob, nameMatcher } from "../../src/patterns/globs.js";
import fc from "../support/fast-check.js";
import { stepsOf } from "../support/steps.js";

const BY_HAND = new Map([
  ["*", ".*"],
  ["?", "."],
  ["{a,b}", "(?:a|b)"],
]);

describe("a glob", () => {
  test.each([
    ["*", "anything", true],
    ["*", "", true],
    ["files__*", "files__read", true],
    ["files__*", "files__", true],
    ["files__*", "git__files__x", false],
    ["*__delete_*", "git__delete_branch", true],
    ["*__delete_*", "git__undelete", false],
    ["a*a", "a", false],
    ["a*a", "aa", true],
    ["*ab*ab", "ab", false],
    ["*ab*ab", "abab", true],
    ["read", "read", true],
    ["read", "reader", false],
    ["r?ad", "read", true],
    ["r?ad", "rad", false],
    ["{get,list}_*", "list_all", true],
    ["{get,list}_*", "set_all", false],
    ["{a,{b,c*}}d", "cxxd", true],
    ["a{b", "a{b", true],
    ["a{b}", "a{b}", true],
    ["a.b", "axb", false],
    ["?", "😀", true],
  ])("%j on %j: %s", (pattern, name, matches) => {
    expect(glob(pattern)(name)).toBe(matches);
  });

  test("means the same as a regular expression that is written by hand", () => {
    const letters = fc.array(fc.constantFrom("a", "b", "_"), { maxLength: 8 }).map((all) => all.join(""));
    const pattern = fc.array(fc.constantFrom("a", "b", "_", "*", "?", "{a,b}"), { maxLength: 6 });
    fc.assert(
      fc.property(pattern, letters, (parts, name) => {
        const source = parts.map((part) => BY_HAND.get(part) ?? part).join("");
        expect(glob(parts.join(""))(name)).toBe(new RegExp(`^${source}$`, "s").test(name));
      }),
      { numRuns: 2000 },
    );
  });

  test("of any kind is matched in steps linear in the name", () => {
    const name = "a".repeat(20_000);
    for (const pattern of [`${"a*".repeat(30)}b`, `${"{a,aa}*".repeat(5)}b`, `${"?*".repeat(10)}b`]) {
      expect(stepsOf(() => expect(glob(pattern)(name)).toBe(false))).toBeLessThan(8 * name.length);
    }
  });
});

test("a glob takes a few steps for each character of a long name", () => {
  const name = `files+file:///${"abc/{x}?".repeat(500_000)}`;
  const globs = ["files+file:///{a,b}*", "*{x,y}*z", "f?les+*", "*?{a,{b,c}}*", "*/abc/*{q,r}"].map(glob);
  const steps = stepsOf(() => {
    for (const matches of globs) matches(name);
  });
  expect(steps).toBeLessThan(8 * globs.length * name.length);
});

test("a glob that can be in very many sets of states forgets old ones and stays right", () => {
  const matches = glob(`*a${"?".repeat(12)}{x,y}`);
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "b", "x"), minLength: 200, maxLength: 2_000 }),
      (name) => {
        expect(matches(name)).toBe(/^.*a.{12}[xy]$/s.test(name));
      },
    ),
    { numRuns: 100 },
  );
});

test("a name passes when one of the allow globs matches and none of the deny globs", () => {
  const passes = nameMatcher({ allow: ["get_*", "set_*"], deny: ["*_secret"] });
  expect(["get_a", "set_b", "get_secret", "list"].map(passes)).toEqual([true, true, false, false]);
});
