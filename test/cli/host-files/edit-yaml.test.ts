import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { editYaml } from "../../../src/cli/host-files/edit-yaml.js";
import fc from "../../support/fast-check.js";

const YAML = `# top
mcpServers:   # all of them

    files: # why
        command:   'files'
        args: [ -y,   b ]   # odd

    # the database
    db:
        command: db
        env:
            NOTE: |
                two
                lines

limits: [] # none
`;

describe("an entry of YAML", () => {
  test("is added on separate lines, and every other byte stays", () => {
    expect(editYaml(YAML, ["mcpServers", "web"], { url: "u", args: ["a"] })).toBe(
      YAML.replace(
        "                lines\n",
        "                lines\n    web:\n        url: u\n        args:\n            - a\n",
      ),
    );
  });

  test("is removed with its lines", () => {
    expect(editYaml(YAML, ["mcpServers", "files"], undefined)).toBe(
      YAML.replace(/ {4}files[\s\S]*# odd\n/, ""),
    );
    expect(editYaml(YAML, ["mcpServers", "db"], undefined)).toBe(YAML.replace(/ {4}db:[\s\S]* lines\n/, ""));
  });

  test("in brackets, in a list, or the only one of its block, is rewritten with its comments", () => {
    const text = "a: { x: 1 } # one\nb: # two\n  - 1\nc:\n  only: 1\n";
    expect(parse(editYaml(text, ["a", "y"], 2))).toEqual({ a: { x: 1, y: 2 }, b: [1], c: { only: 1 } });
    expect(editYaml(text, ["a", "y"], 2)).toContain("# one");
    expect(parse(editYaml(text, ["b", 1], 2))).toEqual({ a: { x: 1 }, b: [1, 2], c: { only: 1 } });
    expect(parse(editYaml(text, ["c", "only"], undefined))).toEqual({ a: { x: 1 }, b: [1], c: {} });
  });

  test("added and removed again leaves all others as they were", () => {
    const word = fc.stringMatching(/^[a-z]{1,5}$/);
    const config = fc.dictionary(word, fc.dictionary(word, fc.jsonValue({ maxDepth: 2 }), { minKeys: 1 }), {
      minKeys: 1,
    });
    fc.assert(
      fc.property(config, fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(2, 4), (value, added, indent) => {
        const text = stringify(value, { indent });
        const top = Object.keys(value)[0] ?? "";
        const more = editYaml(text, [top, "added-here"], added);
        // Through YAML, which knows no -0.
        const before = parse(text) as Record<string, object>;
        const plain = { ...before, [top]: { ...before[top], "added-here": parse(stringify(added)) } };
        expect(parse(more)).toEqual(plain);
        expect(parse(editYaml(more, [top, "added-here"], undefined))).toEqual(parse(text));
      }),
      { numRuns: 30 },
    );
  });
});
