import { describe, expect, test } from "vitest";
import { isRunnerProgress, packageRunner } from "../../src/config/package-runner.js";
import { readConfig } from "../../src/config/read.js";

describe("the first start", () => {
  const first = (server: object) => {
    const read = readConfig(JSON.stringify({ mcpServers: { a: server } }), "c.json", { env: {} });
    return read.ok ? read.config.servers[0] : undefined;
  };
  test("by a runner has three minutes, unless connectTimeout says something else", () => {
    expect(first({ command: "npx", args: ["-y", "x"] })).toMatchObject({
      connectTimeoutMs: 30_000,
      firstConnectTimeoutMs: 180_000,
    });
    expect(first({ command: "uvx", args: ["x"], connectTimeout: "5s" })).not.toHaveProperty(
      "firstConnectTimeoutMs",
    );
    expect(first({ command: "node", args: ["x.js"] })).not.toHaveProperty("firstConnectTimeoutMs");
    expect(first({ url: "https://x.example/mcp" })).not.toHaveProperty("firstConnectTimeoutMs");
  });
});

test.each([
  ["npm", ["exec", "x"], "npm exec", "x"],
  ["npm", ["start"], undefined, undefined],
  ["bun", ["x", "x"], "bun x", "x"],
  ["bun", ["server.ts"], undefined, undefined],
  ["pnpm", ["start"], undefined, undefined],
  ["uv", ["tool", "run", "x"], "uv tool run", "x"],
  ["uv", ["run", "--with", "mcp", "server.py"], "uv run", "mcp"],
  ["docker", ["exec", "-i", "x"], undefined, undefined],
  ["podman", ["run", "--rm", "x"], "podman", undefined],
  ["toString", [], undefined, undefined],
] as [string, string[], string | undefined, string | undefined][])(
  "%s %j is run by %s",
  (command, args, runner, name) => {
    const found = packageRunner(command, args);
    expect([found?.runner, found?.name]).toEqual([runner, name]);
  },
);

test.each([
  "Error: no key",
  "Server running on stdio",
  "Welcome",
  "Traceback (most recent call last):",
  "npm error code E404",
])("%s is no progress of a runner", (line) => expect(isRunnerProgress(line)).toBe(false));
