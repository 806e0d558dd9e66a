/** Whatever text a file holds, reading it ends in a config or in problems, never in an exception. */

import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/config/read.js";
import fc from "../support/fast-check.js";
import { SECTIONS } from "../support/features.js";

const keys = fc.oneof(
  fc.constantFrom(
    "mcpServers",
    "servers",
    "context_servers",
    "listen",
    "http",
    "admin",
    "naming",
    "profiles",
    "policy",
    "limits",
    "command",
    "args",
    "env",
    "url",
    "headers",
    "tools",
    "allow",
    "deny",
    "timeout",
    "port",
    "prefix",
    "disabled",
    "__proto__",
    "constructor",
    "toString",
    "",
    "a",
    "b",
  ),
  fc.string(),
);
const leaves = fc.oneof(
  fc.string(),
  fc.constantFrom(
    "${A}",
    "${",
    "${file:/x}",
    "${env:B:-c}",
    "$${",
    "https://x.example",
    "5m",
    "stdio",
    "auto",
    "*",
  ),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
);
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "medium" },
    leaves,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(keys, tie("value")), { maxLength: 6 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value;

const files = fc.constantFrom("cardea.jsonc", "cardea.yaml", ".mcp.json", "config", "settings.json");
const options = {
  sections: SECTIONS,
  env: { A: "value", B: "" },
  readFile: (path: string): string => {
    if (path.length % 2 === 0) throw new Error("no");
    return "A=1";
  },
};

function check(text: string, file: string): void {
  const outcome = readConfig(text, file, options);
  if (outcome.ok) expect(outcome.config.servers).toBeInstanceOf(Array);
  else expect(outcome.problems.length).toBeGreaterThan(0);
  for (const { line, column } of outcome.problems) {
    const lines = text.replace(/^\uFEFF/, "").split("\n");
    expect(line).toBeGreaterThan(0);
    expect(line).toBeLessThanOrEqual(lines.length);
    expect(column).toBeGreaterThan(0);
    expect(column).toBeLessThanOrEqual((lines[line - 1] ?? "").length + 1);
  }
  expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain("command");
}

describe("reading never throws", () => {
  test("whatever JSON it is", () => {
    fc.assert(
      fc.property(values, files, (value, file) => check(JSON.stringify(value), file)),
      { numRuns: 600, seed: 20_261_120 },
    );
  });

  test("whatever server it is", () => {
    const server = fc.dictionary(keys, values);
    fc.assert(
      fc.property(fc.dictionary(keys, server), files, (mcpServers, file) =>
        check(JSON.stringify({ mcpServers }), file),
      ),
      { numRuns: 300, seed: 20_261_121 },
    );
  });

  test("whatever text it is", () => {
    const grammar = fc
      .array(
        fc.oneof(
          fc.constantFrom(..."{}[]:,\"'#&*!|>-?%@` \n\t\\/$".split("")),
          fc.constantFrom("&a ", "*a", "<<: ", "/*", "//", "---\n", "${"),
          fc.string({ maxLength: 5 }),
        ),
      )
      .map((pieces) => pieces.join(""));
    fc.assert(fc.property(fc.oneof(fc.string(), grammar), files, check), {
      numRuns: 4_000,
      seed: 20_261_122,
    });
  });
});
