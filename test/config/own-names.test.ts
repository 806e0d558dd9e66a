/** Own names where exposed ones are wanted, and the other way round. */
import { describe, expect, test } from "vitest";
import type { Config } from "../../src/config/config.js";
import { readConfig } from "../../src/config/read.js";
import { glob } from "../../src/patterns/globs.js";
import { SECTIONS, testOf } from "../support/features.js";

function configOf(file: object): Config {
  const outcome = readConfig(JSON.stringify(file), "cardea.json", { env: {}, sections: SECTIONS });
  if (!outcome.ok || outcome.problems.length > 0) throw new Error(JSON.stringify(outcome.problems));
  return outcome.config;
}

const command = "x";
const two = { files: { command }, db: { command } };
const rule = (given: object, mcpServers: object = two) =>
  configOf({ mcpServers, policy: { rules: [{ ...given, effect: "deny" }] } }).features.policy?.rules[0];

describe("a rule", () => {
  testOf("policy").each([
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

  testOf("policy")(
    "needs no servers where there is only one, and none has a meaning without prefixes",
    () => {
      expect(rule({ prompts: ["ask"] }, { files: { command } })?.prompts).toEqual(["files__ask"]);
      expect(rule({ tools: ["ask"] }, { files: { command, prefix: "" } })?.tools).toEqual(["ask"]);
      const bare = { ...two, bare: { command, prefix: "" } };
      expect(rule({ servers: ["files", "bare"], tools: ["ask"] }, bare)?.tools).toEqual(["ask"]);
    },
  );
});

testOf("policy")("limits and profiles take own names, too", () => {
  const config = configOf({
    mcpServers: two,
    limits: [{ servers: ["db"], tools: ["query"], rate: "1/s" }],
    profiles: {
      one: { servers: ["files"], tools: { allow: ["*"], deny: ["write_*"] } },
      all: { tools: { deny: ["drop", "db__x"] } },
    },
  });
  expect(config.features.limits?.[0]?.tools).toEqual(["db__query"]);
  expect(config.profiles.one?.tools).toEqual({ allow: ["*"], deny: ["files__write_*"] });
  expect(config.profiles.all?.tools.deny).toEqual(["{files__,db__}drop", "db__x"]);
});

test("filters and overrides of a server take exposed names, too, and its own as before", () => {
  const [files] = configOf({
    mcpServers: {
      files: {
        command,
        tools: { allow: ["files__read_*", "*_x"], deny: ["files__read_secret"] },
        resources: { deny: ["files+file:///etc/*"] },
        overrides: { files__move: { title: "Move" }, copy: { title: "Copy" } },
      },
    },
  }).servers;
  const allowed = (name: string) => files?.tools.allow.some((pattern) => glob(pattern)(name));
  expect([allowed("read_a"), allowed("files__read_a"), allowed("write_a")]).toEqual([true, true, false]);
  expect(files?.tools.deny.some((pattern) => glob(pattern)("read_secret"))).toBe(true);
  expect(glob(files?.resources.deny[0] ?? "")("file:///etc/passwd")).toBe(true);
  expect(Object.keys(files?.overrides ?? {})).toEqual(["files__move", "copy", "move"]);
});
