/** Own names where exposed ones are wanted, and the other way round. */
import { expect, test } from "vitest";
import type { Config } from "../../src/config/config.js";
import { readConfig } from "../../src/config/read.js";
import { glob } from "../../src/patterns/globs.js";
import { SECTIONS } from "../support/features.js";

function configOf(file: object): Config {
  const outcome = readConfig(JSON.stringify(file), "cardea.json", { env: {}, sections: SECTIONS });
  if (!outcome.ok || outcome.problems.length > 0) throw new Error(JSON.stringify(outcome.problems));
  return outcome.config;
}

const command = "x";
const two = { files: { command }, db: { command } };
test("profiles take own names, too", () => {
  const config = configOf({
    mcpServers: two,
    profiles: {
      one: { servers: ["files"], tools: { allow: ["*"], deny: ["write_*"] } },
      all: { tools: { deny: ["drop", "db__x"] } },
    },
  });
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
