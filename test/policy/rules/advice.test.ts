import { describe, expect, test } from "vitest";
import type { RuleConfig } from "../../../src/config/config.js";
import { policyAdvice } from "../../../src/policy/rules/advice.js";
import { limit, rule } from "../support.js";

type Given = Partial<RuleConfig> & Pick<RuleConfig, "effect">;
const servers = ["files", "db"].map((name) => ({ name }));
const advice = (rules: readonly Given[]) =>
  policyAdvice({ policy: { default: "allow", rules: rules.map(rule) }, servers }).map(({ path, message }) => [
    path.join("."),
    message,
  ]);

describe("a rule that never decides is told", () => {
  test.each<[string, Given, Given]>([
    [
      "behind one that matches everything",
      { effect: "deny" },
      { tools: ["a"], when: "args.x", effect: "allow" },
    ],
    ["behind a wider glob", { tools: ["db__*"], effect: "deny" }, { tools: ["db__read_*"], effect: "allow" }],
    [
      "behind a glob that matches its name",
      { tools: ["*_all"], effect: "deny" },
      { tools: ["drop_all"], effect: "allow" },
    ],
    [
      "behind several globs",
      { tools: ["a*", "b*"], effect: "deny" },
      { tools: ["b1", "a2"], effect: "allow" },
    ],
    [
      "behind the same condition",
      { when: "args.x", effect: "deny" },
      { tools: ["a"], when: "args.x", effect: "allow" },
    ],
    [
      "behind the same for everybody",
      { tools: ["a"], effect: "deny" },
      { tools: ["a"], principals: ["ann"], effect: "allow" },
    ],
  ])("%s", (_, earlier, later) => {
    expect(advice([earlier, later])).toEqual([
      [
        "policy.rules.1",
        'rule "rule-2" never decides: "rule-1" matches all that it matches, and comes first',
      ],
    ]);
  });
});

describe("a rule that may decide is left alone", () => {
  test.each<[string, Given, Given]>([
    ["behind a condition", { when: "args.x", effect: "deny" }, { effect: "allow" }],
    [
      "behind a narrower glob",
      { tools: ["db__read_*"], effect: "deny" },
      { tools: ["db__*"], effect: "allow" },
    ],
    ["of another kind", { on: "sampling", effect: "deny" }, { effect: "allow" }],
    [
      "about prompts, behind one about tools",
      { tools: ["*"], effect: "deny" },
      { prompts: ["a"], effect: "allow" },
    ],
    ["about everything, behind one about tools", { tools: ["*"], effect: "deny" }, { effect: "allow" }],
    [
      "behind other principals",
      { principals: ["bob"], effect: "deny" },
      { principals: ["ann"], effect: "allow" },
    ],
    ["behind a group", { groups: ["ops"], effect: "deny" }, { effect: "allow" }],
    ["behind other servers", { servers: ["db"], effect: "deny" }, { servers: ["files"], effect: "allow" }],
    [
      "behind a glob that only looks wider",
      { tools: ["{a,b}*"], effect: "deny" },
      { tools: ["c*"], effect: "allow" },
    ],
  ])("%s", (_, earlier, later) => {
    expect(advice([earlier, later])).toEqual([]);
  });
});

test("a server that is not there is told, for rules and limits", () => {
  const found = policyAdvice({
    policy: { default: "allow", rules: [rule({ servers: ["files", "fiels"], effect: "deny" })] },
    limits: [limit({ servers: ["nope*"], concurrency: 1 })],
    servers,
  });
  expect(found.map(({ path }) => path.join("."))).toEqual(["policy.rules.0.servers.1", "limits.0.servers.0"]);
});
