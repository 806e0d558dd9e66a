import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/config/read.js";

const problemsOf = (text: string, file: string): readonly string[] => {
  const read = readConfig(text, file, { env: {} });
  return read.problems.map(({ line, message }) => `${line}: ${message}`);
};

describe("the file of a host under a name that says nothing", () => {
  test.each([
    [
      "opencode",
      '{\n  "theme": "x",\n  "mcp": { "a": { "type": "local", "command": ["x"] } }\n}',
      2,
      "theme",
    ],
    ["opencode", '{\n  "mcp": { "a": { "type": "local", "command": ["x"] } }\n}', 2, "mcp"],
    ["Goose", '{\n  "extensions": { "a": { "cmd": "x" } }\n}', 2, "extensions"],
    [
      "a server with keys of its host",
      '{ "mcpServers": {\n  "a": { "command": "x", "alwaysAllow": [] }\n} }',
      2,
      "alwaysAllow",
    ],
  ])("%s is refused with the command that reads it", (_, text, line, key) => {
    const [first, ...others] = problemsOf(text, "mine.json");
    expect(first).toMatch(
      new RegExp(`^${line}: .* has an unknown key "${key}"; if this is the config of a host`),
    );
    expect(first).toContain('"cardea import mine.json" turns it into Cardea\'s');
    expect(others.join()).not.toContain("cardea import");
  });

  test.each([
    ["a slip of the pen", '{ "mcpServer": {} }'],
    ["a config that only Cardea has", '{ "listen": {}, "color": 1 }'],
    ["another kind of mistake", '{ "mcpServers": [] }'],
  ])("%s is not taken for one", (_, text) => {
    expect(problemsOf(text, "mine.json").join()).not.toContain("cardea import");
  });

  test("TOML is refused with the command that reads it", () => {
    expect(problemsOf('[mcp_servers.a]\ncommand = "x"\n', "config.toml").join()).toContain(
      '"cardea import FILE"',
    );
  });
});
