/** A file that is made to take long ends in problems, after a bounded number of steps. */
import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/config/read.js";
import { stepsOf } from "../support/steps.js";

const options = { env: {}, readFile: (): string => "" };

describe("reading a config never throws", () => {
  test.each([
    ["deep JSON", "[".repeat(100_000), "cardea.json"],
    ["deep objects", '{"a":'.repeat(50_000), "cardea.json"],
    ["deep YAML", "[".repeat(20_000), "cardea.yaml"],
    [
      "a YAML bomb",
      `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghij"
        .split("")
        .map((key, index) => `${key}: &${key} [${`*${"abcdefghij"[index]},`.repeat(9)}]\n`)
        .join("")}`,
      "cardea.yaml",
    ],
    ["an alias of what it stands in", "a: &a\n  b: *a\n", "cardea.yaml"],
  ])("nor at %s, and it takes a bounded number of steps to say so", (_, text, file) => {
    const steps = stepsOf(() => {
      expect(readConfig(text, file, options).ok).toBe(false);
    });
    expect(steps).toBeLessThan(100_000_000);
  });
});
