import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import { type FakeShell, fakeShell } from "../../cli/fake-shell.js";
import { testOf } from "../../support/features.js";
import { LISTEN } from "./listen.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cardea-workers-"));
  config({});
});
afterEach(() => rmSync(folder, { recursive: true }));

function config(rest: object): void {
  const mcpServers = { a: { command: "x" } };
  writeFileSync(join(folder, "cardea.json"), JSON.stringify({ mcpServers, ...rest }));
}

/** A shell whose workers start and never fail. */
function shellWithWorkers(env: Readonly<Record<string, string>> = {}) {
  const orders: { readonly count: number; readonly orphans: "name" | "end" }[] = [];
  const events: string[] = [];
  const never = new Promise<never>(() => {});
  const shell: FakeShell = {
    ...fakeShell({ cwd: folder, env }),
    async openServing({ processes: count }, _config, { orphans }) {
      orders.push({ count, orphans });
      return {
        start: async () => ({ url: "http://127.0.0.1:1/mcp", adminUrl: "http://127.0.0.1:2", starting: [] }),
        stop: async () => void events.push("stop"),
        hasCutOff: () => false,
        failed: never,
        reload: () => void events.push("reload"),
      };
    },
  };
  return { shell, orders, events };
}

describe("--workers", () => {
  test.each([
    [["serve", "--workers", "3"], {}],
    [["serve"], { CARDEA_WORKERS: "3" }],
    [["serve", "--workers", "3"], { CARDEA_WORKERS: "9" }],
  ] as const)(
    "%j with %o starts three workers, forwards SIGHUP, and stops them at a signal",
    async (argv, env) => {
      const { shell, orders, events } = shellWithWorkers(env);
      const ended = runCommandLine(argv, shell);
      await vi.waitFor(
        () => expect(shell.said).toContain("info: ready: http://127.0.0.1:1/mcp (admin: http://127.0.0.1:2)"),
        { timeout: 60_000 },
      );
      expect(orders).toMatchObject([{ count: 3, orphans: "name" }]);
      shell.signal("SIGHUP");
      shell.signal("SIGTERM");
      expect(await ended).toBe(0);
      expect(events).toEqual(["reload", "stop"]);
      expect(shell.configs).toEqual([]);
    },
  );

  test.each(["0", "-1", "two", "129", "1.5", ""])("refuses %j", async (text) => {
    const { shell, orders } = shellWithWorkers();
    expect(await runCommandLine(["serve", "--workers", text], shell)).toBe(2);
    expect(shell.said.join("\n")).toContain("--workers must be a whole number from 1 to 128");
    expect(orders).toEqual([]);
  });

  testOf("policy").each([{ rate: "10/min" }, { quota: "10/day" }, { concurrency: 3 }])(
    "refuses a config with the limit %o",
    async (bound) => {
      config({ limits: [{ name: "few", tools: ["*"], timeout: "1m", ...bound }] });
      const { shell, orders } = shellWithWorkers();
      expect(await runCommandLine(["serve", "--workers", "2"], shell)).toBe(78);
      expect(shell.said.join("\n")).toContain('the limit "few" counts calls');
      expect(orders).toEqual([]);
    },
  );

  testOf("policy")("`check` reports a limit that `serve` would refuse", async () => {
    writeFileSync(join(folder, "limited.json"), '{ "limits": [{ "rate": "1/s" }] }');
    const shell = fakeShell({ cwd: folder, env: { CARDEA_WORKERS: "2" } });
    expect(await runCommandLine(["check", "--config", "limited.json"], shell)).toBe(78);
    expect(shell.out()).toContain("1:13: the limit");
  });

  testOf("policy")("accepts limits without shared counters", async () => {
    config({ limits: [{ tools: ["*"], timeout: "1m" }] });
    const { shell, orders } = shellWithWorkers();
    const ended = runCommandLine(["serve", "--workers", "2"], shell);
    await vi.waitFor(() => expect(orders).toHaveLength(1), { timeout: 60_000 });
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
  });

  test("a worker listens on the shared port, and refuses counting limits, also after a change of the file", async () => {
    const { shell } = shellWithWorkers();
    const worker: FakeShell = { ...shell, worker: { listen: LISTEN, sections: {}, announce: () => {} } };
    config({ listen: { http: { port: 2222 } } });
    const ended = runCommandLine(["serve"], worker);
    await vi.waitFor(() => expect(shell.configs).toMatchObject([{ listen: { http: { port: 1111 } } }]), {
      timeout: 60_000,
    });
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
    config({ limits: [{ name: "few", tools: ["*"], rate: "10/min" }] });
    expect(await runCommandLine(["serve"], worker)).toBe(78);
    expect(shell.configs).toHaveLength(1);
  });

  test("a worker starts no workers, and reports to the first process when it is ready", async () => {
    const urls: string[] = [];
    const { shell, orders } = shellWithWorkers({ CARDEA_WORKERS: "3" });
    const announce = (url: string): void => void urls.push(url);
    const worker = { ...shell, worker: { listen: LISTEN, sections: {}, announce } };
    const ended = runCommandLine(["serve"], worker);
    await vi.waitFor(() => expect(urls).toEqual(["http://127.0.0.1:1/mcp"]), { timeout: 60_000 });
    expect(orders).toEqual([]);
    expect(shell.orphans).toEqual([undefined]);
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
    expect(shell.said.join("\n")).not.toContain("ready");
  });
});
