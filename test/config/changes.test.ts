/** What a reload says of itself. */
import { expect, test } from "vitest";
import { describeChanges } from "../../src/config/changes.js";
import { readConfig } from "../../src/config/read.js";
import { SECTIONS, testOf } from "../support/features.js";

function configOf(file: object) {
  const outcome = readConfig(JSON.stringify(file), "cardea.json", { env: {}, sections: SECTIONS });
  if (!outcome.ok || outcome.problems.length > 0) throw new Error(JSON.stringify(outcome.problems));
  return outcome.config;
}

const a = { command: "x" };
const deny = { effect: "deny" };
const key = (digit: string) => ({ id: "ci", hash: digit.repeat(64) });

test.each([
  [{ mcpServers: { a } }, { mcpServers: { a } }, ""],
  [
    { mcpServers: { a, b: a, c: a, d: a } },
    { mcpServers: { a, b: { command: "y" }, c: { ...a, tools: ["x"] }, e: a, f: a } },
    "servers: added e, f, removed d, restarted b, changed without a restart c",
  ],
  [{ auth: { keys: [key("a"), key("b")] } }, { auth: { keys: [key("a")] } }, "keys: 1, was 2"],
])("%j -> %j", (before, now, words) => {
  expect(describeChanges(configOf(before), configOf(now), SECTIONS)).toBe(words);
});

testOf("policy").each([
  [
    { mcpServers: { a } },
    { mcpServers: { a, b: a }, policy: { rules: [deny] } },
    "servers: added b; policy rules: 1, was 0",
  ],
  [{}, { policy: { default: "deny" } }, "policy.default: deny"],
  [{ policy: { rules: [deny] } }, { policy: { rules: [{ effect: "allow" }] } }, "policy rules: 1, changed"],
  [{}, { limits: [{ rate: "1/s" }], profiles: { p: {} } }, "limits: 1, was 0; profiles"],
])("%j -> %j", (before, now, words) => {
  expect(describeChanges(configOf(before), configOf(now), SECTIONS)).toBe(words);
});
