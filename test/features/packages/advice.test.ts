/** What is said of servers whose package has no exact version, or a name like another's. */
import { describe, expect, test } from "vitest";
import { readConfig } from "../../../src/config/read.js";
import { adviseOn } from "../../../src/features/packages/advice.js";
import { SECTIONS } from "../../support/features.js";

function adviceOn(server: object): readonly string[] {
  const text = JSON.stringify({ mcpServers: { s: server } });
  const outcome = readConfig(text, "cardea.json", { env: {}, sections: SECTIONS });
  if (!outcome.ok || outcome.problems.length > 0) throw new Error(JSON.stringify(outcome.problems));
  return adviseOn(outcome.config).map(({ message }) => message);
}

describe("packages without a version are named", () => {
  test.each([
    [{ command: "npx", args: ["-y", "@scope/server"] }, "@scope/server", "@scope/server@1.2.3"],
    [{ command: "npx", args: ["-y", "server@latest", "--flag"] }, "server@latest", "server@1.2.3"],
    [{ command: "C:\\nodejs\\npx.cmd", args: ["server"] }, "server", "server@1.2.3"],
    [{ command: "/usr/bin/npx", args: ["--package=thing", "run-it"] }, "thing", "thing@1.2.3"],
    [{ command: "uvx", args: ["mcp-server-git"] }, "mcp-server-git", "mcp-server-git==1.2.3"],
    [{ command: "uvx", args: ["--from", "tools", "run-it"] }, "tools", "tools==1.2.3"],
    [{ command: "uv", args: ["tool", "run", "thing"] }, "thing", "thing==1.2.3"],
    [{ command: "pnpm", args: ["dlx", "thing"] }, "thing", "thing@1.2.3"],
  ])("%j", (server, name, example) => {
    expect(adviceOn(server)).toEqual([
      `it runs whatever version of ${name} is newest; pin one, such as ${example}`,
    ]);
  });

  test.each([
    { command: "npx", args: ["-y", "@scope/server@1.2.3"] },
    { command: "npx", args: ["./local"] },
    { command: "uvx", args: ["mcp-server-git==2026.1.1"] },
    { command: "uvx", args: ["mcp-server-git@2026.1.1"] },
    { command: "uvx", args: ["--from", "git+https://x.example/y@v1", "y"] },
    { command: "pnpm", args: ["start"] },
    { command: "node", args: ["server.js"] },
  ])("but not %j", (server) => {
    expect(adviceOn(server)).toEqual([]);
  });
});

describe("a package with a name like a well-known one is named", () => {
  test.each([
    ["npx", "@modelcontextprotocol/server-filesytem@1.0.0", "is one character away"],
    ["npx", "@modelcontextprotocol/server-fi1esystem@1.0.0", "is written with characters that look the same"],
    [
      "npx",
      "@modelcontextpr\u043etocol/server-memory@1.0.0",
      "is written with characters that look the same",
    ],
    ["npx", "@rnodelcontextprotocol/server-memory@1.0.0", "is written with characters that look the same"],
    ["npx", "@modelcontextprotocol-official/server-memory@1.0.0", "is the same in another scope"],
    ["npx", "server-filesystem@1.0.0", "is the same without its scope"],
    [
      "npx",
      "modelcontextprotocol-server-memory@1.0.0",
      "is written with a hyphen for the slash of its scope",
    ],
    ["npx", "chrome-devtolos-mcp@1.0.0", "is one character away"],
    ["uvx", "mcp-server-fetsh==1.0.0", "is one character away"],
    ["uvx", "mcp-sever-git==1.0.0", "is one character away"],
  ])("%s %s", (command, name, how) => {
    const [message, ...others] = adviceOn({ command, args: [name] });
    expect(message).toContain(`its name ${how}`);
    expect(others).toEqual([]);
  });

  test.each([
    ["npx", "@modelcontextprotocol/server-filesystem@1.0.0"],
    ["npx", "@acme/mcp@1.0.0"],
    ["npx", "@acme/mcp-server@1.0.0"],
    ["npx", "mcp-server-weather@1.0.0"],
    ["uvx", "MCP_Server.Fetch==1.0.0"],
    ["uvx", "awslabs.core-mcp-server==1.0.0"],
    ["npx", `${"a".repeat(5000)}@1.0.0`],
  ])("but not %s %s", (command, name) => {
    expect(adviceOn({ command, args: [name] })).toEqual([]);
  });
});
