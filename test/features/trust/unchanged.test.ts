/** `cardea lock --check` starts no server whose package, version and arguments are those of the lock. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import type { Gateway } from "../../../src/gateway/gateway.js";
import { fakeShell } from "../../cli/fake-shell.js";
import { hasFeature } from "../../support/features.js";
import { search } from "./support.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cardea-unchanged-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const npx = (...args: readonly string[]) => ({ command: "npx", args });
const FILES = npx("-y", "files@1.0.0", "--root", "docs");
const LOCAL = { command: "node", args: ["server.js"] };
const URL_SERVER = { type: "http", url: "http://127.0.0.1:9/mcp" };

/** The package that the gateway would report. */
const PACKAGES: Readonly<Record<string, object>> = {
  files: { package: "files", version: "1.0.0" },
  floating: { package: "floating", version: "3.0.0" },
  bridge: { package: "bridge", version: "1.0.0" },
  local: { command: "node" },
  remote: { url: "http://127.0.0.1:9/mcp" },
};

/** Runs a command with this config; the servers that it starts say `tools`. */
async function run(words: readonly string[], mcpServers: object, tools: readonly object[] = [search]) {
  writeFileSync(join(folder, "cardea.json"), JSON.stringify({ mcpServers }));
  let started: readonly string[] = [];
  const page: Gateway["page"] = async () => {
    started = (shell.configs.at(-1)?.servers ?? []).map(({ name }) => name);
    const definitionsOf = (name: string) => ({ start: PACKAGES[name] ?? {}, name, tools, isMet: true });
    return { servers: started.map((server) => ({ server, definitions: definitionsOf(server) })) };
  };
  const shell = fakeShell({ cwd: folder, gateway: { page } });
  const code = await runCommandLine([...words], shell);
  return { code, started, out: shell.out(), said: shell.said.join("\n") };
}

const lockText = () => readFileSync(join(folder, "cardea.lock"), "utf8");
const OTHER = [{ ...search, description: "Another one." }];

describe.skipIf(!hasFeature("packages"))("`lock --check`", () => {
  test("does not start a server whose package, version and arguments are those of the lock, and names it", async () => {
    const servers = { files: FILES, local: LOCAL };
    expect(await run(["lock"], servers)).toMatchObject({ code: 0, started: ["files", "local"] });
    expect(JSON.parse(lockText()).servers.files.start).toEqual({
      ...{ package: "files", version: "1.0.0", args: ["-y", "files", "--root", "docs"] },
    });
    const checked = await run(["lock", "--check"], servers);
    expect(checked).toMatchObject({ code: 0, started: ["local"] });
    expect(checked.out).toContain("not started");
    expect(checked.out).toContain("files");
    const json = await run(["lock", "--check", "--json"], servers);
    expect(JSON.parse(json.out)).toMatchObject({ same: true, notStarted: ["files"], unread: {} });
  });

  test("starts it with --fresh, and `lock` starts it always", async () => {
    const servers = { files: FILES };
    await run(["lock"], servers);
    const fresh = await run(["lock", "--check", "--fresh"], servers, OTHER);
    expect(fresh).toMatchObject({ code: 3, started: ["files"] });
    expect(fresh.out).toContain("~ tool search");
    expect(fresh.out).not.toContain("not started");
    expect(await run(["lock"], servers, OTHER)).toMatchObject({ code: 0, started: ["files"] });
  });

  test.each([
    ["another version", npx("-y", "files@1.0.1", "--root", "docs")],
    ["another argument", npx("-y", "files@1.0.0", "--root", "notes")],
    ["an argument more", npx("-y", "files@1.0.0", "--root", "docs", "--write")],
    ["no version", npx("-y", "files", "--root", "docs")],
    ["a range of versions", npx("-y", "files@^1.0.0", "--root", "docs")],
    ["a variable more", { ...FILES, env: { READ_ONLY: "1" } }],
    ["another program", { command: "node", args: ["files.js"] }],
  ])("starts one with %s", async (_, changed) => {
    await run(["lock"], { files: FILES });
    expect(await run(["lock", "--check"], { files: changed })).toMatchObject({ started: ["files"] });
  });

  test.each([
    ["a package without a version", "floating", npx("-y", "floating")],
    ["one package of several", "files", npx("-p", "files@1.0.0", "-p", "floating", "files")],
    ["a package that only forwards to a URL", "bridge", npx("-y", "bridge@1.0.0", "https://mcp.example/")],
    ["a package with a file of variables", "files", { ...FILES, envFile: "variables" }],
    ["a package with a secret in its arguments", "files", npx("files@1.0.0", "--key", "sk-Zk39vQ8xWm2PfLr7")],
    ["a command of the machine", "local", LOCAL],
    ["a URL", "remote", URL_SERVER],
  ])("always starts %s", async (_, name, entry) => {
    writeFileSync(join(folder, "variables"), "A=1\n");
    await run(["lock"], { [name]: entry });
    expect(await run(["lock", "--check"], { [name]: entry })).toMatchObject({ code: 0, started: [name] });
    expect(lockText()).not.toContain("sk-Zk39");
  });

  test("compares arguments as the config has them, so that a variable is the same on all machines", async () => {
    const servers = { files: npx("-y", "files@1.0.0", `--root=\${CARDEA_TEST_ROOT:-/home/a}`) };
    await run(["lock"], servers);
    expect(lockText()).toContain("CARDEA_TEST_ROOT:-/home/a");
    expect((await run(["lock", "--check"], servers)).started).toEqual([]);
  });

  test("starts a server whose arguments an older lock does not have, and `lock` adds them", async () => {
    const servers = { files: FILES };
    await run(["lock"], servers);
    const whole = lockText();
    const { args: _, ...start } = JSON.parse(whole).servers.files.start;
    const older = JSON.parse(whole);
    older.servers.files.start = start;
    writeFileSync(join(folder, "cardea.lock"), JSON.stringify(older));
    expect(await run(["lock", "--check"], servers)).toMatchObject({ code: 0, started: ["files"] });
    await run(["lock"], servers);
    expect(lockText()).toBe(whole);
  });

  test("an argument that has changed is a difference of the start line", async () => {
    await run(["lock"], { files: FILES });
    const { code, out } = await run(["lock", "--check"], { files: npx("-y", "files@1.0.0", "--root", "/") });
    expect(code).toBe(3);
    expect(out).toMatch(/~ start line[\s\S]*- .*"docs"[\s\S]*\+ .*"\/"/);
  });

  test("a server that the config no longer has is a difference, and one that the lock lacks is started", async () => {
    await run(["lock"], { files: FILES });
    const { code, out, started } = await run(["lock", "--check"], { notes: npx("notes@1.0.0") });
    expect(code).toBe(3);
    expect(started).toEqual(["notes"]);
    expect(out).toContain("files: no longer in the config");
  });
});
