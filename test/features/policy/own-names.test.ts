/** Own names in rules and limits, where exposed ones are wanted. */
import { describe, expect, test } from "vitest";
import { configOf } from "../../support/gateway.js";

const command = "x";
const two = { files: { command }, db: { command } };
const rule = (given: object, mcpServers: object = two) =>
  configOf({ mcpServers, policy: { rules: [{ ...given, effect: "deny" }] } }).features.policy?.rules[0];

describe("a rule", () => {
  test.each([
    [{ servers: ["files"], tools: ["read_*", "files__x", "*_all"] }, ["files__read_*", "files__x", "*_all"]],
    [{ servers: ["files", "db"], tools: ["delete_*"] }, ["{files__,db__}delete_*"]],
    [{ servers: ["files"], tools: ["my.tool"] }, ["files__my_tool"]],
    // What another server's name begins with is a mistake, and stays one.
    [{ servers: ["files"], tools: ["db__x"] }, ["db__x"]],
    [{ servers: ["files"], tools: ["fils__x"] }, ["fils__x"]],
    // An exposed name could match it.
    [{ servers: ["files"], tools: ["f*"] }, ["f*"]],
    // Which server is meant is not known.
    [{ tools: ["read_*"] }, ["read_*"]],
    [{ servers: ["f*"], tools: ["read_*"] }, ["read_*"]],
    [{ servers: ["nope", "files"], tools: ["read_*"] }, ["read_*"]],
  ])("%j is about %j", (given, tools) => {
    expect(rule(given)?.tools).toEqual(tools);
  });

  test("needs no servers where there is only one, and none has a meaning without prefixes", () => {
    expect(rule({ prompts: ["ask"] }, { files: { command } })?.prompts).toEqual(["files__ask"]);
    expect(rule({ tools: ["ask"] }, { files: { command, prefix: "" } })?.tools).toEqual(["ask"]);
    const bare = { ...two, bare: { command, prefix: "" } };
    expect(rule({ servers: ["files", "bare"], tools: ["ask"] }, bare)?.tools).toEqual(["ask"]);
  });
});

test("limits take own names, too", () => {
  const config = configOf({
    mcpServers: two,
    limits: [{ servers: ["db"], tools: ["query"], rate: "1/s" }],
  });
  expect(config.features.limits?.[0]?.tools).toEqual(["db__query"]);
});
