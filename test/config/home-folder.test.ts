import { expect, test, vi } from "vitest";
import { hostPathContext } from "../../src/cli/host-files/host-paths.js";
import { findConfig, searchPaths } from "../../src/config/find.js";
import { homeFolder } from "../../src/config/home-folder.js";
import { readConfig } from "../../src/config/read.js";
import { stateFolder } from "../../src/state/state-folder.js";

vi.mock("node:os", async (original) => ({
  ...(await original<typeof import("node:os")>()),
  homedir: () => {
    throw new Error("A system error occurred: uv_os_homedir returned ENOENT (no such file or directory)");
  },
}));

test("a user without an entry in the system and without HOME has a home folder in which nothing can be kept", () => {
  vi.stubEnv("HOME", "");
  expect(homeFolder({})).toBe("/");
  expect(homeFolder({ HOME: "/home/me" })).toBe("/home/me");
  expect(stateFolder({})).toBe("/.local/state/cardea");
  expect(searchPaths({ env: {} })).toContain("/.config/cardea/cardea.jsonc");
  expect(findConfig({ env: {}, cwd: "/no/such/folder" })).toBeUndefined();
  expect(hostPathContext({}).home).toBe("/");
  const read = readConfig('{ "mcpServers": { "a": { "command": "~/x", "cwd": "~/y" } } }', ".mcp.json", {
    env: {},
  });
  expect(read.ok && read.config.servers[0]?.transport).toMatchObject({ command: "/x", cwd: "/y" });
  vi.unstubAllEnvs();
});
