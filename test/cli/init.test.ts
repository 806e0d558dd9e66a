import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/config/read.js";
import { atHome } from "./at-home.js";

const DESKTOP = "home/.config/Claude/claude_desktop_config.json";
const serversOf = (text: string): Record<string, unknown> => {
  const read = readConfig(text, "cardea.jsonc", { env: { TOKEN: "x" } });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return Object.fromEntries(read.config.servers.map(({ name, transport }) => [name, transport.kind]));
};

describe("init", () => {
  test("names a missing folder", async () => {
    const { code, said } = await atHome().run("init", "--out", "no/such/cardea.json");
    expect(code).toBe(1);
    expect(said.at(-1)).toContain("no/such/cardea.json cannot be written: its folder does not exist");
  });

  test("creates a config from the servers of installed hosts, and prints how to connect each host", async () => {
    const { run, write, read } = atHome();
    write(DESKTOP, {
      mcpServers: { files: { command: "npx", args: ["-y", "files"] }, db: { command: "db" } },
    });
    write("home/.cursor/mcp.json", {
      mcpServers: { files: { command: "npx", args: ["-y", "files"] }, db: { command: "other" } },
    });
    write("home/.codex/config.toml", '[mcp_servers.web]\nurl = "https://web.example/mcp"\n');
    write("work/.vscode/mcp.json", { servers: { local: { command: "${workspaceFolder}/x" } } });
    const { code, out, said } = await run("init");
    expect([code, said]).toEqual([0, []]);
    const text = read("work/cardea.jsonc");
    expect(serversOf(text)).toEqual({
      files: "stdio",
      db: "stdio",
      "db-2": "stdio",
      web: "http",
      local: "stdio",
    });
    expect(text).toContain('"files": { "command": "npx", "args": ["-y", "files"] }');
    expect(out).toContain(
      "wrote cardea.jsonc: 5 servers (files, db, db-2, web, local), from Claude Desktop, Cursor, Codex, VS Code (.vscode/mcp.json)",
    );
    for (const host of [
      "claude-code",
      "claude-desktop",
      "vscode",
      "cursor",
      "windsurf",
      "zed",
      "gemini",
      "codex",
      "opencode",
    ]) {
      expect(out).toMatch(new RegExp(`install ${host} --config /work/cardea\\.jsonc$`, "m"));
    }
    expect(out).toMatch(/ stdio --config \/work\/cardea\.jsonc$/m);
    expect(out).toContain("http://127.0.0.1:8080/mcp");
  });

  test.each([
    ["a command that fetches its package gets a longer startupWait", "npx", 45_000],
    ["other commands keep the default", "node", 10_000],
  ])("%s", async (_what, command, startupWaitMs) => {
    const { run, write, read } = atHome();
    write(DESKTOP, { mcpServers: { files: { command, args: ["files"] } } });
    for (const file of ["cardea.jsonc", "cardea.yaml"]) {
      expect((await run("init", "--out", file)).code).toBe(0);
      const outcome = readConfig(read(`work/${file}`), file, { env: {} });
      expect(outcome.ok && outcome.config.startupWaitMs).toBe(startupWaitMs);
    }
  });

  test("does not overwrite a file", async () => {
    const { run, write, read } = atHome();
    write("work/cardea.jsonc", "{}");
    const { code, said } = await run("init", "--yes");
    expect(code).toBe(1);
    expect(said.join()).toContain("cardea.jsonc exists already and is not overwritten");
    expect(read("work/cardea.jsonc")).toBe("{}");
  });

  test("reads the files of --from, and writes the file of --out", async () => {
    const { run, write, read } = atHome();
    write("work/one.json", { mcpServers: { a: { command: "a" } } });
    write("work/two.yaml", "mcpServers:\n  b:\n    command: b\n");
    write(DESKTOP, { mcpServers: { not: { command: "this" } } });
    const { code } = await run("init", "--from", "one.json", "--from", "two.yaml", "--out", "mine.json");
    expect(code).toBe(0);
    expect(JSON.parse(read("work/mine.json"))).toEqual({
      mcpServers: { a: { command: "a" }, b: { command: "b" } },
    });
  });

  test("writes YAML to a file with that extension", async () => {
    const { run, write, read } = atHome();
    write(DESKTOP, { mcpServers: { a: { command: "a", env: { TOKEN: "${TOKEN}" } } } });
    expect((await run("init", "--out", "cardea.yaml")).code).toBe(0);
    expect(read("work/cardea.yaml")).toContain("#   TOKEN\nmcpServers:\n  a:\n    command: a\n");
  });

  test("keeps secrets in an env file, and names variables that must be set", async () => {
    const { run, write, read } = atHome();
    write(DESKTOP, {
      mcpServers: { a: { command: "a", env: { API_KEY: "k3y-9f8e7d6c5b4a3928", TOKEN: "${TOKEN}" } } },
    });
    const { said } = await run("init");
    expect(said.join("\n")).toMatch(/set TOKEN in the environment/);
    expect(said.join("\n")).not.toContain("k3y");
    expect(read("work/cardea.jsonc")).toContain("//   TOKEN\n");
    expect(read("work/cardea.jsonc")).not.toContain("k3y");
    expect(read("work/cardea.env")).toContain('A_API_KEY="k3y-9f8e7d6c5b4a3928"\n');
  });

  test("omits Cardea itself, invalid servers and servers of other projects", async () => {
    const { run, write, read } = atHome();
    write("home/.claude.json", {
      mcpServers: {
        cardea: { command: "/usr/bin/node", args: ["/x/cardea/dist/main.js", "stdio"] },
        gateway: { command: "npx", args: ["-y", "cardea@1.0.0", "connect", "http://127.0.0.1:8080/mcp"] },
        broken: { args: ["x"] },
        good: { command: "x" },
      },
      projects: { "/elsewhere": { mcpServers: { other: { command: "y" } } } },
    });
    const { code, said } = await run("init");
    expect(code).toBe(0);
    expect(Object.keys(serversOf(read("work/cardea.jsonc")))).toEqual(["good"]);
    expect(said.filter((line) => line.includes("left out"))).toEqual([
      'warn: /home/.claude.json: server "broken" needs a "command" or a "url"; the server is left out',
    ]);
  });

  test("without any host writes a config to start from", async () => {
    const { run, read } = atHome();
    const { code, out, said } = await run("init");
    expect([code, said.length]).toEqual([0, 1]);
    expect(said[0]).toContain("no host with servers was found here");
    expect(out).toContain("add memory");
    expect(serversOf(read("work/cardea.jsonc"))).toEqual({});
  });

  test("a missing file, or one without servers, is an error and nothing is written", async () => {
    const { run, has, write } = atHome();
    write("work/empty.json", {});
    expect((await run("init", "--from", "nothing.json")).code).toBe(1);
    const { code, said } = await run("init", "--from", "empty.json");
    expect([code, said.at(-1)]).toEqual([1, "error: no servers were found in empty.json"]);
    expect(has("work/cardea.jsonc")).toBe(false);
    expect((await run("init", "--out", "cardea.toml")).code).toBe(2);
  });
});
