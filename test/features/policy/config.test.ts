/** How `policy` and `limits` are read. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkSections } from "../../../src/config/check-sections.js";
import { formatProblem } from "../../../src/config/problem.js";
import { readConfig } from "../../../src/config/read.js";
import { SECTIONS, testOf } from "../../support/features.js";

const read = (text: string, env = {}) =>
  checkSections(readConfig(text, "cardea.json", { env, sections: SECTIONS }));

describe("policy and limits", () => {
  test("are parsed completely: named by their place, times in ms, no defaults added", async () => {
    const outcome = await read(
      JSON.stringify({
        policy: {
          rules: [
            { effect: "deny", tools: ["a"] },
            { name: "ask", effect: "approve", remember: "1h" },
            { effect: "redact", redact: { results: { patterns: ["sk-.*"] } } },
          ],
        },
        limits: [
          { rate: "10/min", burst: 5, per: "principal" },
          { timeout: "30m", tools: ["slow__*"] },
        ],
      }),
    );
    const { policy, limits } = outcome.ok ? outcome.config.features : {};
    expect({ policy, limits }).toEqual({
      policy: {
        default: "allow",
        rules: [
          { name: "rule-1", isUnnamed: true, on: "call", effect: "deny", tools: ["a"] },
          { name: "ask", on: "call", effect: "approve", rememberMs: 3_600_000 },
          {
            name: "rule-3",
            isUnnamed: true,
            on: "call",
            effect: "redact",
            redact: {
              arguments: { paths: [], patterns: [] },
              results: { paths: [], patterns: ["sk-.*"] },
              replacement: "[redacted]",
            },
          },
        ],
      },
      limits: [
        {
          name: "limit-1",
          isUnnamed: true,
          on: "call",
          rate: { count: 10, windowMs: 60_000 },
          burst: 5,
          per: "principal",
        },
        {
          name: "limit-2",
          isUnnamed: true,
          on: "call",
          timeoutMs: 1_800_000,
          tools: ["slow__*"],
          per: "all",
        },
      ],
    });
  });

  testOf("admin")("that cannot be compiled are errors with their line, beside all other errors", async () => {
    const outcome = await read(
      `{ "listen": { "prot": 1 },
  "policy": { "rules": [{ "effect": "deny", "when": "args.env ==" }, { "effect": "hide", "on": "roots" }] },
  "limits": [{ "tools": ["a"] }] }`,
    );
    const messages = outcome.problems.map(formatProblem);
    expect(messages).toEqual([
      'cardea.json:1:15: listen has an unknown key "prot"',
      expect.stringMatching(/^cardea\.json:2:53: policy\.rules\[0\]\.when: /),
      'cardea.json:2:82: policy.rules[1].effect: "hide" is for calls; questions of servers can be allowed or denied',
      'cardea.json:3:14: limits[0]: a limit needs a "rate", a "quota", a "concurrency" or a "timeout"',
    ]);
  });

  test("are absent if the file has none", async () => {
    const outcome = await read("{}");
    expect(outcome.ok && Object.keys(outcome.config)).toEqual([
      "file",
      "digest",
      "files",
      "listen",
      "servers",
      "startupWaitMs",
      "naming",

      "parkedCalls",
      "profiles",
      "features",
    ]);
  });
});

testOf("admin")("the example of the design, with every section in it, is valid", async () => {
  const text = readFileSync(new URL("../../config/example.jsonc", import.meta.url), "utf8");
  const outcome = await read(text, { SENTRY_TOKEN: "x" });
  expect(outcome.problems.map(formatProblem)).toEqual([]);
  expect(
    outcome.ok && outcome.config.features.policy?.rules.map(({ name, effect }) => `${name}: ${effect}`),
  ).toEqual(["no-prod-writes: deny", "ask-before-delete: approve", "no-passwords: deny"]);
  expect(outcome.ok && outcome.config.features.limits).toHaveLength(3);
});

test("a glob with more braces than RE2 nests is refused with its place, in rules and in filters", async () => {
  const nested = `${"{a*,x".repeat(1_200)}b${"}".repeat(1_200)}`;
  const outcome = await read(
    JSON.stringify({
      mcpServers: { a: { command: "true", tools: { deny: [nested] } } },
      policy: { rules: [{ effect: "deny", tools: [nested] }] },
    }),
  );
  expect(outcome.problems.map(({ message }) => message)).toEqual([
    expect.stringContaining("tools.deny[0] has more than 100 braces"),
    expect.stringContaining("policy.rules[0].tools[0] has more than 100 braces"),
  ]);
});

test("what is wrong is said with its place: refused-config.jsonc.txt", () => {
  const text = readFileSync(new URL("refused-config.jsonc.txt", import.meta.url), "utf8");
  const [, config = "", expected = ""] = /^([\s\S]*?)---\n([\s\S]*)$/.exec(text) ?? [];
  const { problems } = readConfig(config, "cardea.jsonc", { env: {}, sections: SECTIONS });
  const messages = problems.map((problem) => `${formatProblem(problem)}\n`).join("");
  expect(messages).toBe(expected);
  expect(messages).not.toContain("s3cret");
});
