/** Values that hosts take for text, in their files. */
import { expect, test } from "vitest";
import { importText } from "../../src/cli/host-files/import-text.js";
import { readConfig } from "../../src/config/read.js";

const FILE = `{ "mcpServers": { "a": { "command": "x", "args": ["--port", 8080, true],
  "env": { "PORT": 3000, "RATE": 0.5, "DEBUG": true, "OFF": false, "NONE": null, "TEXT": "1.0" } } } }`;
const ENV = { PORT: "3000", RATE: "0.5", DEBUG: "true", OFF: "false", TEXT: "1.0" };
const ARGS = ["--port", "8080", "true"];

test("numbers and booleans are text, and null is not set, in an import", () => {
  const { imported, faults } = importText(FILE, "/p/claude_desktop_config.json", {});
  expect(faults).toEqual([]);
  expect(imported?.servers.get("a")).toMatchObject({ args: ARGS, env: ENV });
  expect(imported?.servers.get("a")?.env).not.toHaveProperty("NONE");
  expect(imported?.notes).toEqual([]);
});

test("and where the gateway serves a host's own file", () => {
  const read = readConfig(FILE, "/p/.mcp.json", { env: {} });
  expect(read.problems).toEqual([]);
  expect(read.ok && read.config.servers[0]?.transport).toMatchObject({ args: ARGS, env: ENV });
});

test("the same for headers, and for keys that a host calls otherwise", () => {
  const text =
    '{ "mcpServers": { "a": { "url": "https://a.example", "headers": { "X-Team": 7, "X-None": null } }, "b": { "cmd": "x", "envs": { "N": 1 } } } }';
  const read = readConfig(text, "/p/.mcp.json", { env: {} });
  expect(read.ok && read.config.servers.map(({ transport }) => transport)).toMatchObject([
    { headers: { "X-Team": "7" } },
    { env: { N: "1" } },
  ]);
});

test("a number that has lost digits is no text, and is reported", () => {
  const read = readConfig(
    '{ "mcpServers": { "a": { "command": "x", "env": { "ID": 123456789012345678 } } } }',
    "/p/.mcp.json",
    { env: {} },
  );
  expect(read.problems).toMatchObject([{ message: 'server "a": env.ID must be text, not a number' }]);
});
