/** A file that is made to take long ends in problems, after a bounded number of steps. */
import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/config/read.js";
import { sample } from "../support/sample.js";
import { stepsOf } from "../support/steps.js";

const options = { env: {}, readFile: (): string => "" };

const BOMBS = [
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
  [
    "merges of merges",
    `a0: &a0 { k: 1 }\n${Array.from({ length: 40 }, (_, at) => `a${at + 1}: &a${at + 1} { <<: [*a${at}, *a${at}], z${at}: 1 }\n`).join("")}`,
    "cardea.yaml",
  ],
  ["many aliases in a long list", `x: &x 1\ny: [${"*x,".repeat(30_000)}]\n`, "cardea.yaml"],
  ["a long YAML file", "k: [\n".repeat(200_000), "cardea.yaml"],
  ["commas in one line", `{${",".repeat(1_000_000)}`, "cardea.json"],
  ["words in one line", `{${"a ".repeat(500_000)}`, "cardea.json"],
  ["many values", `[${"1,".repeat(500_000)}1]`, "cardea.json"],
  ["one key again and again", `{${'"a":1,'.repeat(50_000)}"b":1}`, "cardea.json"],
  ["many unknown keys", `{${Array.from({ length: 50_000 }, (_, at) => `"k${at}":1`).join()}}`, "cardea.json"],
  [
    "many unset variables",
    `{"mcpServers":{"a":{"command":"x","args":[${'"${Q}",'.repeat(90_000)}""]}}}`,
    "cardea.json",
  ],
  [
    "many servers with an unset variable each",
    `{"mcpServers":{${Array.from({ length: 5_000 }, (_, at) => `"s${at}":{"command":"\${Q}"}`).join()}}}`,
    "cardea.json",
  ],
  [
    "many servers",
    `{"mcpServers":{${Array.from({ length: 40_000 }, (_, at) => `"s${at}":{"command":"x"}`).join()}}}`,
    "cardea.json",
  ],
] as const;

describe("reading a config never throws", () => {
  test.each(sample("files", BOMBS, 3))(
    "nor at %s, and it takes a bounded number of steps to say so",
    (_, text, file) => {
      const steps = stepsOf(() => {
        expect(readConfig(text, file, options).problems).not.toEqual([]);
      });
      expect(steps).toBeLessThan(100_000_000);
    },
  );
});

test("an alias stands for the anchor before it, inside what another alias repeats, too", () => {
  const text =
    "mcpServers:\n  a: &a\n    command: &c one\n    args: [*c]\n  b:\n    command: &c two\n    <<: *a\n  c:\n    command: *c\n";
  const read = readConfig(text, "cardea.yaml", options);
  expect(read.ok && read.config.servers.map(({ transport }) => transport)).toMatchObject([
    { command: "one", args: ["one"] },
    { command: "two", args: ["one"] },
    { command: "two", args: [] },
  ]);
});

test("variables whose values are too long together are a problem with a place", () => {
  const text = `{ "mcpServers": { "a": { "command": "x",\n "args": [${'"${LONG}",'.repeat(100)}""] } } }`;
  const read = readConfig(text, "cardea.json", { env: { LONG: "x".repeat(1_000_000) } });
  expect(read.problems[0]).toMatchObject({
    line: 2,
    message: expect.stringContaining("variables of this file have more characters"),
  });
});
