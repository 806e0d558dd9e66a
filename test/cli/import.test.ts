/** Hosts' files and what is made of them: each file of import/ has the host's, the printed config, and the remarks. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { importConfig } from "../../src/cli/import.js";
import { runCommandLine } from "../../src/cli/program.js";
import { readConfig } from "../../src/config/read.js";
import { hasFeature } from "../support/features.js";
import { fakeShell } from "./fake-shell.js";

const folder = new URL("import/", import.meta.url);
/** Files of hosts that sign in to servers. */
const SIGNED_IN = /-oauth\.|^cursor\.txt$/;
const files = readdirSync(folder).filter((file) => hasFeature("sign-in") || !SIGNED_IN.test(file));

test.each(files)("%s", async (file) => {
  const [source = "", config = "", remarks = ""] = readFileSync(new URL(file, folder), "utf8").split(
    /^---\n/m,
  );
  const home = mkdtempSync(join(tmpdir(), "cardea-import-"));
  const shell = fakeShell({ cwd: home });
  try {
    const host = `host.${/\.(\w+)\.txt$/.exec(file)?.[1] ?? "json"}`;
    writeFileSync(join(home, host), source);
    expect(await importConfig(host, shell)).toBe(0);
  } finally {
    rmSync(home, { recursive: true });
  }
  expect(shell.out().replaceAll(home, "/nowhere")).toBe(config);
  expect(shell.said.map((line) => `${line}\n`).join("")).toBe(remarks);
  const read = readConfig(config, "cardea.jsonc", {
    env: { ...process.env, ...variablesOf(config) },
    readFile: () => "",
  });
  expect(read.ok || remarks.includes("prefix")).toBe(true);
});

const variablesOf = (config: string): Record<string, string> =>
  Object.fromEntries([...config.matchAll(/^\/\/ {3}(\w+)/gm)].map(([, name = ""]) => [name, "x"]));

describe("a file that is no host's config", () => {
  test.each([
    ["is not JSON", "{", 78, "standard input:1:2: a closing } is missing"],
    ["is a list", "[]", 78, "standard input:1:1: a host's config is an object"],
    ["has no servers", '{ "theme": "dark" }', 78, "no servers were found in standard input"],
  ])("because it %s is refused", async (_, stdin, code, message) => {
    const shell = fakeShell({ stdin });
    expect(await runCommandLine(["import", "-"], shell)).toBe(code);
    expect(shell.said).toEqual([`error: ${message}`]);
    expect(shell.out()).toBe("");
  });

  test("from stdin may be YAML, recognized by its first character", async () => {
    const shell = fakeShell({ stdin: "mcpServers:\n  a:\n    command: x\n" });
    expect(await runCommandLine(["import", "-"], shell)).toBe(0);
    expect(shell.out()).toBe(
      `// Imported from standard input.\n${JSON.stringify({ mcpServers: { a: { command: "x" } } }, null, 2)}\n`,
    );
  });

  test("from stdin may be Codex's TOML, or a fragment of JSON from a README", async () => {
    const printed = `// Imported from standard input.\n${JSON.stringify({ mcpServers: { a: { command: "x" } } }, null, 2)}\n`;
    for (const stdin of [
      'model = "o3"\n[mcp_servers.a]\ncommand = "x"\n',
      '"mcpServers": {\n  "a": { "command": "x" }\n},\n',
      '"a": { "command": "x" }\n',
      '{ "a": { "command": "x" } }',
    ]) {
      const shell = fakeShell({ stdin });
      expect(await runCommandLine(["import", "-"], shell)).toBe(0);
      expect(shell.out()).toBe(printed);
    }
  });

  test("because it is invalid TOML is refused with line and column, without the text around it", async () => {
    const shell = fakeShell({ stdin: '[mcp_servers.a]\nenv = { KEY = "s3cr3t" \n' });
    expect(await runCommandLine(["import", "-"], shell)).toBe(78);
    expect(shell.said).toEqual(["error: standard input:3:1: this is not TOML"]);
  });

  test("because it does not exist is refused", async () => {
    const shell = fakeShell();
    expect(await runCommandLine(["import", "nothing.json"], shell)).toBe(1);
    expect(shell.said).toEqual(["error: nothing.json cannot be read: there is no such file"]);
  });
});
