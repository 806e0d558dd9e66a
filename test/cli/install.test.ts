import { spawn } from "node:child_process";
import { chmodSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { writeRunFile } from "../../src/cli/run-files.js";
import { SILENT } from "../../src/core/logger.js";
import { atHome } from "./at-home.js";

const CONFIG = { mcpServers: { files: { command: "files" } } };
const STDIO = [
  expect.stringMatching(/vitest/),
  "stdio",
  "--config",
  expect.stringMatching(/work\/cardea\.json$/),
];
const URL = "http://127.0.0.1:9000/mcp";
const node = process.execPath;

/** Each host with its file on Linux, and its entry with a command and with a URL. */
const HOSTS = [
  [
    "claude-code",
    "home/.claude.json",
    ["mcpServers"],
    { type: "stdio", command: node, args: STDIO },
    { type: "http", url: URL },
  ],
  [
    "vscode",
    "home/.config/Code/User/mcp.json",
    ["servers"],
    { type: "stdio", command: node, args: STDIO },
    { type: "http", url: URL },
  ],
  ["cursor", "home/.cursor/mcp.json", ["mcpServers"], { command: node, args: STDIO }, { url: URL }],
  [
    "windsurf",
    "home/.codeium/windsurf/mcp_config.json",
    ["mcpServers"],
    { command: node, args: STDIO },
    { serverUrl: URL },
  ],
  [
    "zed",
    "home/.config/zed/settings.json",
    ["context_servers"],
    { command: node, args: STDIO, env: {} },
    { url: URL },
  ],
  ["gemini", "home/.gemini/settings.json", ["mcpServers"], { command: node, args: STDIO }, { httpUrl: URL }],
  [
    "opencode",
    "home/.config/opencode/opencode.json",
    ["mcp"],
    { type: "local", command: [node, ...STDIO], enabled: true },
    { type: "remote", url: URL, enabled: true },
  ],
  [
    "claude-desktop",
    "home/.config/Claude/claude_desktop_config.json",
    ["mcpServers"],
    { command: node, args: STDIO },
    { command: node, args: [expect.stringMatching(/vitest/), "connect", URL] },
  ],
] as const;

const entryIn = (text: string, path: readonly string[]): unknown =>
  path.reduce<Record<string, unknown>>((at, key) => at[key] as Record<string, unknown>, JSON.parse(text))
    .cardea;

function withConfig(env: Readonly<Record<string, string>> = {}) {
  const place = atHome(env);
  place.write("work/cardea.json", CONFIG);
  return place;
}

/** Writes what a gateway that serves the config writes while it runs; this process stands for it. */
async function withGateway(pid: number = process.pid) {
  const place = withConfig();
  await announce(place.home, workFile(place.home, "cardea.json"), pid);
  return place;
}

const workFile = (home: string, name: string): string => `${home.replace(/home$/, "work")}/${name}`;

async function announce(home: string, config: string | undefined, pid: number = process.pid) {
  const gateway = { url: URL, adminUrl: "http://127.0.0.1:9001", pid };
  await writeRunFile({ HOME: home }, { ...gateway, ...(config !== undefined && { config }) }, SILENT);
}

describe("install", () => {
  test.each(HOSTS)(
    "%s gets a stdio entry with the config, or the URL of the running gateway",
    async (host, file, path, stdio, http) => {
      const place = withConfig();
      expect((await place.run("install", host)).code).toBe(0);
      expect(entryIn(place.read(file), path)).toEqual(stdio);
      const running = await withGateway();
      expect((await running.run("install", host)).code).toBe(0);
      expect(entryIn(running.read(file), path)).toEqual(http);
    },
  );

  test("codex gets a TOML table, and the rest of its file stays unchanged", async () => {
    const mine = '# mine\nmodel = "x"   # best\n\n[tui]\ntheme = "y" # dark';
    const place = await withGateway();
    place.write("home/.codex/config.toml", mine);
    expect((await place.run("install", "codex")).code).toBe(0);
    expect(place.read("home/.codex/config.toml")).toBe(`${mine}\n\n[mcp_servers.cardea]\nurl = "${URL}"\n`);
    expect(place.read("home/.codex/config.toml.bak")).toBe(mine);
  });

  test("keeps comments and layout, prints a diff, writes a backup, and is idempotent", async () => {
    const mine =
      '{\n  // dark is best\n  "theme": "dark",\n  "context_servers": {\n    "files": { "command": "f" } // mine\n  }\n}\n';
    const file = "home/.config/zed/settings.json";
    const place = await withGateway();
    place.write(file, mine);
    const dry = await place.run("install", "zed", "--dry-run");
    expect([dry.code, place.read(file), place.has(`${file}.bak`)]).toEqual([0, mine, false]);
    expect(dry.out).toBe(
      `/${file}:2\n    // dark is best\n    "theme": "dark",\n    "context_servers": {\n-     "files": { "command": "f" } // mine\n+     "files": { "command": "f" }, // mine\n+     "cardea": { "url": "${URL}" }\n    }\n  }\n`,
    );
    const first = await place.run("install", "zed");
    expect(place.read(file)).toBe(mine.replace("} // mine", `}, // mine\n    "cardea": { "url": "${URL}" }`));
    expect(place.read(`${file}.bak`)).toBe(mine);
    expect(first.out).toContain(dry.out);
    expect(first.out).toContain(`wrote /${file} (as it was before: /${file}.bak)`);
    const again = await place.run("install", "zed");
    expect([again.code, again.out]).toEqual([0, `Zed has it already: /${file}\n`]);
    expect(place.has(`${file}.bak.2`)).toBe(false);
  });

  test("names servers that the host would have twice, and removes them with the flag for it", async () => {
    const file = "home/.cursor/mcp.json";
    const place = await withGateway();
    place.write(file, { mcpServers: { files: { command: "files" }, own: { command: "o" } } });
    const { said } = await place.run("install", "cursor");
    expect(said.join()).toContain("warn: Cursor also starts files itself");
    await place.run("install", "cursor", "--replace");
    expect(JSON.parse(place.read(file))).toEqual({
      mcpServers: { own: { command: "o" }, cardea: { url: URL } },
    });
    expect(JSON.parse(place.read(`${file}.bak`)).mcpServers).toEqual({
      files: { command: "files" },
      own: { command: "o" },
    });
  });

  test.each([
    [{ command: "f" }, { command: "f" }, true],
    [{ command: "/usr/bin/f", args: [] }, { command: "f" }, true],
    [{ command: "f", args: ["--other"] }, { command: "f" }, false],
    [{ command: "g" }, { command: "f" }, false],
    [{ url: "https://f.example/mcp" }, { command: "f" }, false],
    [{ url: "https://f.example/mcp/" }, { url: "https://f.example/mcp?key=1" }, true],
    [{ url: "https://g.example/mcp" }, { url: "https://f.example/mcp" }, false],
    [{ serverUrl: "https://f.example/mcp" }, { url: "https://f.example/mcp" }, true],
    [{ command: "npx", args: ["-y", "@x/f"] }, { command: "npx", args: ["@x/f@1.2.3", "--root", "."] }, true],
    [{ command: "npx", args: ["-y", "@x/f"] }, { command: "npx", args: ["-y", "@x/g"] }, false],
    [{ command: ["uvx", "f"] }, { command: "uvx", args: ["f==1"] }, true],
    [{ command: "node", args: ["a.js"] }, { command: "node", args: ["b.js"] }, false],
    ["f", { command: "f" }, false],
  ])("--replace takes %j for the server %j: %j", async (entry, server, isSame) => {
    const file = "home/.cursor/mcp.json";
    const place = await withGateway();
    place.write("work/cardea.json", { mcpServers: { files: server } });
    place.write(file, { mcpServers: { files: entry } });
    const { said, code } = await place.run("install", "cursor", "--replace");
    expect(code).toBe(0);
    expect(Object.keys(JSON.parse(place.read(file)).mcpServers as object)).toEqual(
      isSame ? ["cardea"] : ["files", "cardea"],
    );
    expect(said.join().includes("with another command or URL than the config; it stays in its file")).toBe(
      !isSame,
    );
  });

  test("does not print headers, and makes the file private", async () => {
    const place = await withGateway();
    place.write("home/.cursor/mcp.json", { mcpServers: { own: { command: "o" } } });
    const { out } = await place.run(
      "install",
      "cursor",
      "--url",
      URL,
      "--header",
      "Authorization: Bearer abc",
    );
    expect(out).not.toContain("abc");
    expect(place.mode("home/.cursor/mcp.json")).toBe(0o600);
    expect(JSON.parse(place.read("home/.cursor/mcp.json")).mcpServers.cardea).toEqual({
      url: URL,
      headers: { Authorization: "Bearer abc" },
    });
    expect(out).toContain('"own"');
  });

  test("makes a file that already has the headers private, and the backup of one with other headers", async () => {
    const place = await withGateway();
    const file = "home/.cursor/mcp.json";
    const args = (key: string) => [
      "install",
      "cursor",
      "--url",
      URL,
      "--header",
      `Authorization: Bearer ${key}`,
    ];
    await place.run(...args("first-key"));
    chmodSync(join(place.home, "../", file), 0o644);
    const { out } = await place.run(...args("first-key"));
    expect([out, place.mode(file), place.has(`${file}.bak`)]).toEqual([
      "Cursor has it already: /home/.cursor/mcp.json\n",
      0o600,
      false,
    ]);
    chmodSync(join(place.home, "../", file), 0o644);
    await place.run(...args("second-key"));
    expect([place.mode(file), place.mode(`${file}.bak`)]).toEqual([0o600, 0o600]);
  });

  test("a stdio-only host gets headers in the environment, not in the process list", async () => {
    const place = withConfig();
    const { code } = await place.run(
      "install",
      "claude-desktop",
      "--url",
      URL,
      "--header",
      "Authorization: Bearer abc",
    );
    expect(code).toBe(0);
    expect(entryIn(place.read("home/.config/Claude/claude_desktop_config.json"), ["mcpServers"])).toEqual({
      command: node,
      args: [expect.stringMatching(/vitest/), "connect", URL],
      env: { CARDEA_HEADER: "Authorization: Bearer abc" },
    });
  });

  test("a stopped gateway, or one with another config, is not used", async () => {
    const ended = await withGateway(2 ** 22 + 12345);
    await ended.run("install", "cursor");
    expect(entryIn(ended.read("home/.cursor/mcp.json"), ["mcpServers"])).toHaveProperty("command");
    const other = withConfig();
    await announce(other.home, "/elsewhere/c.json");
    other.write("home/.local/state/cardea/run/2.json", "{ half");
    await other.run("install", "cursor");
    expect(entryIn(other.read("home/.cursor/mcp.json"), ["mcpServers"])).toHaveProperty("command");
  });

  test("a running gateway with the same config by another path is used", async () => {
    const place = withConfig();
    symlinkSync(workFile(place.home, "cardea.json"), workFile(place.home, "link.json"));
    await announce(place.home, workFile(place.home, "link.json"));
    await place.run("install", "cursor");
    expect(entryIn(place.read("home/.cursor/mcp.json"), ["mcpServers"])).toEqual({ url: URL });
  });

  test("without a config the only running gateway is used, if it has a config", async () => {
    const [one, bare, two] = [atHome(), atHome(), atHome()];
    await announce(one.home, "/elsewhere/c.json");
    expect((await one.run("install", "cursor")).code).toBe(0);
    expect(entryIn(one.read("home/.cursor/mcp.json"), ["mcpServers"])).toEqual({ url: URL });
    await announce(bare.home, undefined);
    expect((await bare.run("install", "cursor")).code).toBe(78);
    await announce(two.home, "/elsewhere/c.json");
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()"]);
    try {
      await announce(two.home, "/elsewhere/d.json", child.pid);
      const { code, said } = await two.run("install", "cursor");
      expect([code, said.at(-1)]).toEqual([78, expect.stringContaining("no config file")]);
    } finally {
      child.kill();
    }
  });

  test("opencode 2 has its servers one level deeper", async () => {
    const file = "home/.config/opencode/opencode.json";
    const place = await withGateway();
    place.write(file, { mcp: { servers: { a: { type: "local", command: ["a"] } } } });
    await place.run("install", "opencode");
    expect(entryIn(place.read(file), ["mcp", "servers"])).toEqual({ type: "remote", url: URL });
  });

  test.each([
    [{ CODEX_HOME: "codex" }, "codex", "codex/config.toml"],
    [{ CLAUDE_CONFIG_DIR: "claude" }, "claude-code", "claude/.claude.json"],
    [{ XDG_CONFIG_HOME: "config" }, "zed", "config/zed/settings.json"],
    [{ XDG_CONFIG_HOME: "config" }, "vscode", "config/Code/User/mcp.json"],
  ])("%j moves the file of %s", async (variables, host, file) => {
    const env: Record<string, string> = {};
    const place = withConfig(env);
    for (const [name, folder] of Object.entries(variables)) env[name] = `${place.home}/${folder}`;
    const moved = atHome(env);
    moved.write("work/cardea.json", CONFIG);
    expect((await moved.run("install", host)).code).toBe(0);
    expect(place.has(`home/${file}`)).toBe(true);
  });

  test.each([
    ["an unknown host", ["install", "zeb"], 2, "did you mean zed?"],
    ["no URL", ["install", "zed", "--url", "ftp://x"], 2, "--url takes"],
    ["a file that is broken", ["install", "zed"], 78, "/home/.config/zed/settings.json:1:"],
    ["a config that is wrong", ["install", "cursor", "--config", "bad.json"], 78, "bad.json:1:"],
  ])("%s is refused and nothing is written", async (_, argv, code, message) => {
    const place = withConfig();
    place.write("work/bad.json", '{ "nonsense": 1 }');
    place.write("home/.config/zed/settings.json", '{ "a": ');
    const done = await place.run(...argv);
    expect([done.code, done.said.join("\n")]).toEqual([code, expect.stringContaining(message)]);
    expect(place.read("home/.config/zed/settings.json")).toBe('{ "a": ');
    expect(place.has("home/.cursor/mcp.json")).toBe(false);
  });

  test("without a config the error names the command that creates one", async () => {
    const { code, said } = await atHome().run("install", "cursor");
    expect([code, said[0]]).toEqual([78, expect.stringContaining('"cardea init" writes one')]);
  });
});
