/** The flags of `cardea serve` that say where operators connect. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import { fakeShell } from "../../cli/fake-shell.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cardea-admin-flags-"));
  const listen = { http: { host: "filehost", port: 1 }, admin: { port: 2 } };
  writeFileSync(join(folder, "cardea.json"), JSON.stringify({ listen, mcpServers: { a: { command: "x" } } }));
  writeFileSync(join(folder, "other.json"), JSON.stringify({ mcpServers: { b: { command: "x" } } }));
  writeFileSync(join(folder, "exposed.json"), '{ "listen": { "admin": { "host": "::" } } }');
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  [["serve", "--admin-host", ""], "option '--admin-host <host>' argument '' is invalid."],
  [["serve", "--admin-port", "65536"], "--admin-port must be a whole number from 0 to 65535"],
  [["--port", "8081", "--", "node"], "listen.http and listen.admin would both be at port 8081"],
])("%j is refused", async (argv, message) => {
  const shell = fakeShell({ cwd: folder });
  expect(await runCommandLine(argv, shell)).toBe(2);
  expect(shell.said.join("\n")).toContain(message);
});

describe("a flag overrides the environment, which overrides the file, which overrides the default", () => {
  const env = {
    ...{ CARDEA_HOST: "envhost", CARDEA_PORT: "11", CARDEA_CONFIG: "other.json" },
    ...{ CARDEA_ADMIN_HOST: "envadmin", CARDEA_ADMIN_PORT: "12" },
  };
  const flags = ["--host", "flaghost", "--port", "21", "--admin-host", "flagadmin", "--admin-port", "22"];

  test.each([
    ["default", [], { CARDEA_CONFIG: "other.json" }, ["b", "127.0.0.1", 8081]],
    ["file", [], {}, ["a", "127.0.0.1", 2]],
    ["environment", [], env, ["b", "envadmin", 12]],
    ["flags", ["--config", "cardea.json", ...flags], env, ["a", "flagadmin", 22]],
    ["empty environment", [], { CARDEA_ADMIN_PORT: "", CARDEA_ADMIN_HOST: "" }, ["a", "127.0.0.1", 2]],
    [
      "what Kubernetes sets for a Service called cardea-admin",
      [],
      { CARDEA_ADMIN_PORT: "tcp://10.0.0.1:80" },
      ["a", "127.0.0.1", 2],
    ],
  ])("%s", async (_, argv, environment, expected) => {
    const shell = fakeShell({ cwd: folder, env: environment });
    shell.signal("SIGTERM");
    expect(await runCommandLine(["serve", ...argv], shell)).toBe(0);
    const [config] = shell.configs;
    const { host, port } = config?.features["listen.admin"] ?? {};
    expect([config?.servers[0]?.name, host, port]).toEqual(expected);
  });
});

test("`check` reports an address that `serve` would refuse", async () => {
  const shell = fakeShell({ cwd: folder });
  expect(await runCommandLine(["check", "--config", "exposed.json"], shell)).toBe(78);
  expect(shell.out()).toContain("1:34: serve refuses to listen on ::");
});
