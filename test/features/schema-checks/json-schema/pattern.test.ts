/** Which untrusted patterns are compiled, what they are estimated to cost, and what they match. */
import { describe, expect, test } from "vitest";
import { CheckRun } from "../../../../src/features/schema-checks/json-schema/check-result.js";
import {
  compileUntrusted,
  instructionCount,
} from "../../../../src/features/schema-checks/json-schema/pattern.js";

class Counting extends CheckRun {
  work = 0;
  override spend(work: number): void {
    this.work += work;
  }
}

describe("an untrusted pattern", () => {
  test.each([
    ["abc", 3],
    ["a{3}", 6],
    ["(?:ab){2,10}", 60],
    ["((a{1,30}){1,30})", 1_800],
    ["[0-9a-f]{8}-[0-9a-f]{4}", 25],
    ["\\d{1,3}", 6],
    ["[)(]{2}[]]{3}", 10],
  ])("%s: its instructions are estimated before it is compiled", (source, least) => {
    expect(instructionCount(source)).toBeGreaterThanOrEqual(least);
    expect(instructionCount(source)).toBeLessThan(least * 2 + 20);
  });

  test.each([
    "(?=a)",
    "(a",
    "((a{1,100}){1,100})",
    `(${"a".repeat(900)}){30}`,
    "(\\pL{1,1000})(\\pL{1,1000})(\\pL{1,1000})",
    "\\Q[\\E((a{1,30}){1,30}){1,30}]",
    "a".repeat(1_001),
  ])("%s is not compiled", (source) => {
    expect(compileUntrusted(source)).toBeUndefined();
  });

  test("never has more instructions than estimated", () => {
    for (const source of [
      "^[a-z]+$",
      "(?:a|b|ab)*c",
      "((a{1,30}b?){1,30})",
      "\\pL{1,500}",
      "(a?){200}a{200}",
      "x{,5}",
      "a{2}{3}",
    ]) {
      const run = new Counting();
      compileUntrusted(source)?.test("", run);
      expect(run.work).toBeLessThanOrEqual(instructionCount(source) * 4 + 20);
    }
  });

  test.each([
    ["^[\\w.-]+@[\\w.-]+$", "a@b.c", true],
    ["^\\u0041$", "A", true],
    ["^a\\/b$", "a/b", true],
    ["^(?<year>\\d{4})$", "2026", true],
    ["b", "abc", true],
    ["^.$", "😀", true],
    ["^\\p{Lu}+$", "ÄÖ", true],
    ["^b", "abc", false],
  ])("%s means what it means in ECMAScript", (source, text, matches) => {
    expect(compileUntrusted(source)?.test(text, new CheckRun())).toBe(matches);
  });
});
