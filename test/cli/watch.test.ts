/** `cardea status`, `tail` and `top`, asked of a gateway with a scripted server. */
import "../features/admin/needed.js";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../../src/cli/program.js";
import { writeRunFile } from "../../src/cli/run-files.js";
import { tableText } from "../../src/cli/table.js";
import { busiest } from "../../src/cli/top.js";
import { SILENT } from "../../src/core/logger.js";
import { hasFeature, testOf } from "../support/features.js";
import { gatewayOf, listening } from "../support/gateway.js";
import { startUpstream, UPSTREAMS } from "../support/scripted/upstreams.js";
import { until } from "../support/until.js";
import { fakeShell } from "./fake-shell.js";

async function started() {
  const [kind] = UPSTREAMS;
  if (kind === undefined) throw new Error("there is no scripted server");
  const upstream = await startUpstream(kind);
  onTestFinished(() => upstream.stop());
  const listen = { http: { port: 0 }, admin: { port: 0 } };
  const gateway = await gatewayOf({ listen, mcpServers: { one: upstream.entry } });
  const { adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  await gateway.lists("tools");
  return { gateway, adminUrl };
}

describe("with several gateways on this machine", () => {
  const two = async (config: string) => {
    const { adminUrl } = await started();
    const env = { CARDEA_STATE_DIR: mkdtempSync(join(tmpdir(), "cardea-state-")), HOME: "/nowhere" };
    const urls = { url: "http://127.0.0.1:1/mcp" };
    await writeRunFile(env, { ...urls, adminUrl, pid: process.pid, config }, SILENT);
    await writeRunFile(
      env,
      { ...urls, adminUrl: "http://127.0.0.1:1", pid: process.ppid, config: "/else" },
      SILENT,
    );
    return env;
  };

  test.each([["status"], ["top"]])(
    "%s asks the one that serves the config of the folder",
    async (command) => {
      const cwd = mkdtempSync(join(tmpdir(), "cardea-folder-"));
      const config = join(cwd, "cardea.yaml");
      writeFileSync(config, "{}");
      const env = await two(config);
      const shell = fakeShell({ cwd, env });
      expect(await runCommandLine([command], shell)).toBe(0);
      const named = fakeShell({ cwd: "/", env });
      expect(await runCommandLine([command, "--config", config], named)).toBe(0);
    },
  );

  test("names them all in a folder whose config none of them serves", async () => {
    const env = await two("/somewhere/cardea.json");
    const shell = fakeShell({ cwd: "/", env });
    expect(await runCommandLine(["status"], shell)).toBe(69);
    expect(shell.said.join()).toContain("several gateways run here");
  });
});

test.each([
  ["errors", "tail", "--outcome"],
  ["denyed", "tail", "--outcome"],
  ["OK", "tail", "--outcome"],
])("tail refuses the outcome %s", async (word, ...argv) => {
  const shell = fakeShell();
  expect(await runCommandLine([...argv, word], shell)).toBe(2);
  expect(shell.said.join()).toContain(`--outcome: no call ends in "${word}"`);
  const byVariable = fakeShell({ env: { CARDEA_OUTCOME: word } });
  expect(await runCommandLine(["tail"], byVariable)).toBe(2);
  expect(byVariable.said.join()).toContain("CARDEA_OUTCOME: no call");
});

describe("status", () => {
  test("is a table with a line for each server, without colours where the output is no terminal", async () => {
    const { gateway, adminUrl } = await started();
    await gateway.call("one__echo", { text: "here" });
    const shell = fakeShell();
    expect(await runCommandLine(["status", "--url", adminUrl], shell)).toBe(0);
    const [head, , heads, row] = shell.out().split("\n");
    expect(head).toMatch(/^ready: cardea 0\.0\.0-test, pid \d+, up \d+ s, 0 sessions, 0 open questions/);
    expect(heads).toMatch(/^SERVER +STATE +ERA +CALLS/);
    expect(row).toMatch(/^one +ready +\S+ +1 +0 +[\d.]+ ms +[\d.]+ ms +0$/);
    expect(shell.out()).not.toContain("\u001b");
  });

  test.each([
    ["a terminal", { columns: 80 }],
    ["a width in COLUMNS", { env: { COLUMNS: "80" } }],
  ])("has no line longer than %s has room for", async (_, options) => {
    const { adminUrl } = await started();
    const shell = fakeShell(options);
    expect(await runCommandLine(["status", "--url", adminUrl], shell)).toBe(0);
    const lines = shell.out().split("\n");
    expect(lines[0]).toMatch(/^ready: cardea \S+, pid \d+, up \d+ s, 0 sessions, 0 open questions,$/);
    expect(lines[1]).toMatch(/^ {2}http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  test("is JSON for programs", async () => {
    const { adminUrl } = await started();
    const shell = fakeShell();
    expect(await runCommandLine(["status", "--json", "--url", adminUrl], shell)).toBe(0);
    expect(JSON.parse(shell.out())).toMatchObject({
      status: { ready: true },
      servers: [{ name: "one", calls: 0, restarts: 0 }],
    });
  });

  test.each([
    [["--watch"], {}],
    [[], { CARDEA_WATCH: "1" }],
  ])("is shown again until a signal, with %j and %j", async (flags, env) => {
    const { adminUrl } = await started();
    const shell = fakeShell({ env });
    const ended = runCommandLine(["status", ...flags, "--url", adminUrl], shell);
    await until("a second table", () => shell.out().split("SERVER").length > 2);
    shell.signal("SIGINT");
    expect(await ended).toBe(0);
  });

  test("says how to start a gateway where none runs, and ends with 69", async () => {
    const shell = fakeShell({ env: { XDG_STATE_HOME: "/nowhere" } });
    expect(await runCommandLine(["status"], shell)).toBe(69);
    expect(shell.said).toEqual([
      "error: no gateway runs here; cardea serve starts one, and --url asks one elsewhere",
    ]);
  });
});

describe("tail", () => {
  test.each([
    [["--tool", "one__echo", "--lines", "5"], {}],
    [[], { CARDEA_TOOL: "one__echo", CARDEA_LINES: "5" }],
  ])("prints the last calls, then each new one that %j and %j choose, until a signal", async (flags, env) => {
    const { gateway, adminUrl } = await started();
    await gateway.call("one__echo", { text: "before" });
    const shell = fakeShell({ env });
    const ended = runCommandLine(["tail", ...flags, "--json", "--url", adminUrl], shell);
    await until("a new call", async () => {
      await gateway.call("one__nothing", {});
      await gateway.call("one__echo", { text: "after" });
      return shell.out().split("\n").length > 3;
    });
    shell.signal("SIGINT");
    expect(await ended).toBe(0);
    const rows = shell
      .out()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(new Set(rows.map(({ target }) => target))).toEqual(new Set(["one__echo"]));
    const ids = rows.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
  });

  test("has a line with the time, the outcome, the target and where the time went", async () => {
    const { gateway, adminUrl } = await started();
    await gateway.call("one__nothing", {});
    const shell = fakeShell();
    const ended = runCommandLine(["tail", "--url", adminUrl], shell);
    await until("a line", () => shell.out() !== "");
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
    expect(shell.out()).toMatch(/^\d\d:\d\d:\d\d\.\d{3} +[\d.]+ ms +unknown_target +one__nothing +anonymous/);
  });

  test("ends with 69 when the gateway stops", async () => {
    const { gateway, adminUrl } = await started();
    await gateway.call("one__echo", { text: "here" });
    const shell = fakeShell();
    const ended = runCommandLine(["tail", "--url", adminUrl], shell);
    await until("a line", () => shell.out() !== "");
    await gateway.stop({ immediate: true });
    expect(await ended).toBe(69);
  });

  test("refuses a number of lines that is none", async () => {
    const shell = fakeShell();
    expect(await runCommandLine(["tail", "--lines", "many"], shell)).toBe(2);
    const byVariable = fakeShell({ env: { CARDEA_LINES: "many" } });
    expect(await runCommandLine(["tail"], byVariable)).toBe(2);
    expect(byVariable.said.join()).toContain("CARDEA_LINES must be a whole number");
  });
});

describe("top", () => {
  test("has the busiest targets of the last minute, the busiest first", async () => {
    const { gateway, adminUrl } = await started();
    await gateway.call("one__nothing", {});
    for (const text of ["a", "b"]) await gateway.call("one__echo", { text });
    const shell = fakeShell();
    expect(await runCommandLine(["top", "--json", "--url", adminUrl], shell)).toBe(0);
    expect(JSON.parse(shell.out())).toMatchObject({
      targets: [
        { target: "one__echo", server: "one", calls: 2, errors: 0 },
        { target: "one__nothing", server: "", calls: 1, errors: 1 },
      ],
    });
  });

  test("leaves out what is older, and has percentiles of the rest", () => {
    const call = (at: number, total: number) => ({
      at,
      target: "t",
      server: "s",
      outcome: "ok",
      ms: { total },
    });
    const calls = [call(9, 1000), ...Array.from({ length: 100 }, (_, ms) => call(10, ms + 1))];
    expect(busiest(calls, 10)).toEqual([
      { target: "t", server: "s", calls: 100, errors: 0, p50: 50, p95: 95 },
    ]);
  });
});

test("a table is never wider than the terminal, and nothing in it steers the terminal", () => {
  const rows = [
    [{ text: "SERVER" }, { text: "NOTE" }],
    [{ text: "a\u001b[31m" }, { text: "x".repeat(300) }],
  ];
  const lines = tableText(rows, 40).trimEnd().split("\n");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
  expect(lines.join("")).not.toContain("\u001b");
});

/** Two lines of an audit log. */
const AUDITED = ["call", "approval"].map((kind, at) => ({
  ...{ seq: at + 1, at: "2026-11-25T20:00:00.000Z", kind, principal: "someone@a-company.example" },
  ...{ server: "a-server-with-a-name", method: "tools/call", target: "a-server-with-a-name__and_a_tool" },
  ...{ decision: "accepted", outcome: "upstream_unavailable", ms: { total: 12.5 } },
}));

describe.each([80, 40])("on a terminal of %i columns", (columns) => {
  const LONG = "a-server-for-customer-relations-with-a-long-name";

  async function longNamed() {
    const node = process.execPath;
    const broken = { command: node, args: ["-e", "console.error('no database'); process.exit(3)"] };
    const listen = { http: { port: 0 }, admin: { port: 0 } };
    const gateway = await gatewayOf({ listen, mcpServers: { [LONG]: broken, db: broken } });
    const { adminUrl } = await listening(gateway);
    onTestFinished(() => gateway.stop({ immediate: true }));
    await gateway.call(`${LONG}__some_tool_with_a_name`, {});
    return adminUrl;
  }

  const linesOf = (shell: ReturnType<typeof fakeShell>): readonly string[] => {
    const lines = shell.out().trimEnd().split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
    return lines;
  };

  test("status has the state and the reason of each server, one below the other", async () => {
    const adminUrl = await longNamed();
    const shell = fakeShell({ columns });
    await runCommandLine(["status", "--url", adminUrl], shell);
    const lines = linesOf(shell);
    const head = lines.find((line) => line.startsWith("SERVER")) ?? "";
    const [state, note] = [head.indexOf("STATE"), head.indexOf("NOTE")];
    expect(Math.min(state, note)).toBeGreaterThan(0);
    for (const name of ["a-server", "db"]) {
      const row = lines.find((line) => line.startsWith(name)) ?? "";
      expect(row.slice(state)).toMatch(/^(?:backoff|starting) /);
      expect(row.slice(note - 1)).toMatch(/^ exited/);
    }
  });

  test("tail has the outcome and the target of a call on one line", async () => {
    const adminUrl = await longNamed();
    const shell = fakeShell({ columns });
    const ended = runCommandLine(["tail", "--url", adminUrl], shell);
    await until("a line", () => shell.out() !== "");
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
    const [line] = linesOf(shell);
    expect(line?.length).toBeLessThanOrEqual(columns);
    expect(line).toMatch(/(?:upstream_unavailable|unknown_target) {2}a-server/);
  });

  test.each([
    ["list", /^ {2}one__echo/m],
    ...(hasFeature("token-counts") ? [["tokens", /^ {2}one +.* \d+/m] as const] : []),
  ] as const)("%s fits, and names what it is about", async (command, line) => {
    const { adminUrl } = await started();
    const shell = fakeShell({ columns });
    await runCommandLine([command, "--url", adminUrl], shell);
    const rows = shell.out().split("\n");
    for (const row of rows.filter((text) => text.startsWith("  one"))) {
      expect(row.length).toBeLessThanOrEqual(columns);
    }
    expect(shell.out()).toMatch(line);
  });

  testOf("audit")("audit show fits, and has what was called and what came of it", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "cardea-")), "audit.jsonl");
    writeFileSync(file, AUDITED.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const shell = fakeShell({ columns });
    expect(await runCommandLine(["audit", "show", file], shell)).toBe(0);
    expect(linesOf(shell)[1]).toMatch(/tools\/call.* accepted/);
  });
});
