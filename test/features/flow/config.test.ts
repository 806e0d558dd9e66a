/** Flow rules and labels in the config: what is refused, and what is warned of. */
import { expect, test } from "vitest";
import { advised } from "../../../src/cli/feature.js";
import { checkSections } from "../../../src/config/check-sections.js";
import { readConfig } from "../../../src/config/read.js";
import { FEATURES, SECTIONS, testOf } from "../../support/features.js";
import { rule, servers } from "./support.js";

async function read(config: object, sections = SECTIONS) {
  const text = JSON.stringify(config);
  const outcome = await checkSections(readConfig(text, "/cardea.json", { env: {}, sections }));
  return outcome.ok ? outcome.config : outcome.problems.map(({ message }) => message);
}

const entries = Object.fromEntries(
  Object.entries(servers()).map(([name, { entry }]) => [name, { url: "https://a.example/mcp", ...entry }]),
);

test("labels of servers and tools are read", async () => {
  expect(await read({ mcpServers: entries, policy: { flow: [rule("approve")] } })).toMatchObject({
    servers: [
      { name: "files", features: { flow: { reads: "private" } } },
      { name: "web", features: { flow: { content: "untrusted" } } },
      {
        name: "mail",
        features: { flow: { sends: "external" } },
        overrides: { draft: { features: { flow: { sends: "internal" } } } },
      },
      { name: "clock" },
    ],
    features: { "policy.flow": [{ name: "no-exfiltration", effect: "approve" }] },
  });
});

test.each([
  [[rule("deny", { effect: "block" })], /effect/],
  [[rule("deny"), rule("deny")], 'the name "no-exfiltration" is taken by another rule or limit'],
  [[rule("deny", { name: "default" })], 'the name "default" is taken by another rule or limit'],
  [[rule("deny", { after: [] })], /after/],
  [[rule("deny", { approvers: ["lee"] })], 'this key needs the effect "approve"'],
  [[rule("approve", { approvers: ["group:"] })], '"group:" needs the name of a group'],
  [[rule("approve", { approvalTimeout: "1m" })], 'this key needs "approvers"'],
  [[rule("deny", { before: ["private"] })], /unknown key "before"/],
])("rules %j are refused", async (flow, message) => {
  const problems = await read({ mcpServers: {}, policy: { flow } });
  expect(problems).toEqual([expect.stringMatching(message)]);
});

testOf("policy")("a flow rule with the name of a rule is refused", async () => {
  const rules = [{ name: "no-exfiltration", effect: "allow" }];
  expect(await read({ mcpServers: {}, policy: { rules, flow: [rule("deny")] } })).toEqual([
    expect.stringContaining('the name "no-exfiltration" is taken by another rule or limit'),
  ]);
});

test("a rule for which nothing has a label is warned of", async () => {
  const { files, mail } = entries;
  const config = await read({ mcpServers: { files, mail }, policy: { flow: [rule("deny")] } });
  if (Array.isArray(config)) throw new Error(config.join());
  const found = await advised(FEATURES, config as never);
  expect(found.filter(({ path }) => path[1] === "flow")).toEqual([
    {
      path: ["policy", "flow", 0, "after"],
      message:
        'flow rule "no-exfiltration" can match nothing: no server and no tool of the config has "flow": { "content": "untrusted" }, which only annotations that cardea.lock approves could mean otherwise',
    },
  ]);
});

test("without the feature of rules, policy has flow rules alone", async () => {
  const sections = SECTIONS.filter((section) => !("path" in section) || section.path !== "policy");
  const missing = "no feature of this build has such a section";
  expect(await read({ mcpServers: {}, policy: {} }, sections)).toEqual([
    `policy has none of its keys in this build (flow); ${missing}`,
  ]);
  expect(await read({ mcpServers: {}, policy: { rules: [] } }, sections)).toEqual([
    expect.stringContaining(`policy has an unknown key "rules"; ${missing}`),
  ]);
  expect(await read({ mcpServers: {}, policy: { flow: [rule("deny")] } }, sections)).toMatchObject({
    features: { "policy.flow": [{ name: "no-exfiltration" }] },
  });
});
