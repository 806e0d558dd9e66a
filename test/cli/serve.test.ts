import "../features/admin/needed.js";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runCommandLine } from "../../src/cli/program.js";
import type { Config } from "../../src/config/config.js";
import { GatewayError } from "../../src/core/errors.js";
import { FEATURES, testOf } from "../support/features.js";
import { type FakeShell, type FakeShellOptions, fakeShell } from "./fake-shell.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cardea-serve-"));
  config("a");
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

function config(...servers: readonly string[]): void {
  const mcpServers = Object.fromEntries(servers.map((name) => [name, { command: "${CMD:-x}" }]));
  writeFileSync(join(folder, "cardea.json"), JSON.stringify({ mcpServers }));
}

function serving(options: FakeShellOptions = {}): { shell: FakeShell; ended: Promise<number> } {
  const shell = fakeShell({ cwd: folder, env: { CMD: "s3cret" }, ...options });
  return { shell, ended: runCommandLine(["serve"], shell) };
}

const READY = "info: ready: http://127.0.0.1:1/mcp (admin: http://127.0.0.1:2)";
const never = new Promise<never>(() => {});

describe("serve", () => {
  test("prints one line with the URLs when it is ready, drains at a signal and exits with 0", async () => {
    const { shell, ended } = serving();
    await vi.waitFor(() => expect(shell.said).toContain(READY), { timeout: 60_000 });
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
    expect(shell.events).toEqual(["start", "stop"]);
    expect(shell.said.at(-1)).toBe("info: stopped");
    expect(shell.said.filter((line) => line.includes("http://"))).toEqual([READY]);
    expect(shell.out()).toBe("");
    expect(shell.secrets).toEqual(["s3cret"]);
  });

  test("warns once of a filter that matches nothing which the server lists", async () => {
    const filtered = (...deny: readonly string[]): void =>
      writeFileSync(
        join(folder, "cardea.json"),
        JSON.stringify({ mcpServers: { a: { command: "x", tools: { deny } } } }),
      );
    filtered("raed");
    const entries = { tools: [{ name: "read" }], prompts: [], resources: [], resourceTemplates: [] };
    const ownLists = async () => new Map([["a", entries]]);
    const { shell, ended } = serving({ gateway: { ownLists } });
    const warnings = (): readonly string[] => shell.said.filter((line) => line.includes("did you mean read"));
    await vi.waitFor(() => expect(warnings()).toHaveLength(1), { timeout: 60_000 });
    expect(warnings()[0]).toMatch(
      /^warn: cardea\.json:1:\d+: server "a": no tool of the server has a name like this/,
    );
    filtered("read", "rread");
    shell.signal("SIGHUP");
    await vi.waitFor(() => expect(warnings()).toHaveLength(2), { timeout: 60_000 });
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
  });

  test("exits with 1 where the drain has cut off calls", async () => {
    const { shell, ended } = serving({ gateway: { hasCutOff: () => true } });
    shell.signal("SIGTERM");
    expect(await ended).toBe(1);
    expect(shell.said).toContain("warn: stopped; calls that had not ended in time were cancelled");
  });

  test("stops at once at the second signal, and exits with the code of an incomplete drain", async () => {
    const events: string[] = [];
    const stop = ({ immediate = false } = {}): Promise<void> => {
      events.push(immediate ? "at once" : "drain");
      return immediate ? Promise.resolve() : never;
    };
    const { shell, ended } = serving({ gateway: { stop } });
    shell.signal("SIGINT");
    shell.signal("SIGINT");
    expect(await ended).toBe(130);
    expect(events).toEqual(["drain", "at once"]);
  });

  test("exits with that code, too, where stopping at once ends the drain", async () => {
    let cutOff = (): void => {};
    const drain = new Promise<void>((resolve) => {
      cutOff = resolve;
    });
    const stop = async ({ immediate = false } = {}): Promise<void> => {
      if (immediate) cutOff();
      await drain;
    };
    const { shell, ended } = serving({ gateway: { stop } });
    shell.signal("SIGTERM");
    shell.signal("SIGTERM");
    expect(await ended).toBe(143);
    expect(shell.said.at(-1)).toBe("info: stopped; running calls were cancelled");
  });

  test("exits although the gateway does not stop after the second signal", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { shell, ended } = serving({ gateway: { stop: () => never } });
    shell.signal("SIGTERM");
    shell.signal("SIGTERM");
    await vi.waitFor(() => expect(shell.said.join()).toContain("stopping at once"), { timeout: 60_000 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await ended).toBe(143);
  });

  test.each([
    [["serve"], {}, "name"],
    [["serve", "--reap"], {}, "end"],
    [["serve"], { CARDEA_REAP: "1" }, "end"],
    [["stdio", "--reap"], {}, "end"],
    [["--reap", "--", "server"], {}, "end"],
    [["list"], {}, undefined],
  ] as const)("with %j and %j, orphaned processes of a killed gateway: %s", async (argv, env, done) => {
    const shell = fakeShell({ cwd: folder, env: { CMD: "x", ...env } });
    shell.signal("SIGTERM");
    await runCommandLine(argv, shell);
    expect(shell.orphans).toEqual([done]);
  });

  test("exits with 0 when the signal comes before it is ready", async () => {
    const { shell, ended } = serving({ gateway: { start: () => never } });
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
    expect(shell.events).toEqual(["stop"]);
  });

  test.each([
    [8080, "--port"],
    [8081, "--admin-port"],
  ])(
    "exits with 1 when it cannot listen at %i (EADDRINUSE), and names the reason and the flag",
    async (port, flag) => {
      const error = Object.assign(new Error(`listen EADDRINUSE: address already in use 127.0.0.1:${port}`), {
        code: "EADDRINUSE",
        port,
      });
      const { shell, ended } = serving({ gateway: { start: () => Promise.reject(error) } });
      expect(await ended).toBe(1);
      expect(shell.said.at(-1)).toBe(
        `error: the gateway cannot start: ${error.message}; is it running already? ${flag} N takes another port, 0 a free one`,
      );
      expect(shell.events).toEqual(["stop at once"]);
    },
  );

  test("exits with 69 when a required server is unavailable", async () => {
    const error = new GatewayError("upstream_unavailable", "upstream", "a cannot be started", {
      server: "a",
    });
    const { shell, ended } = serving({ gateway: { failed: Promise.resolve(error) } });
    expect(await ended).toBe(69);
    expect(shell.said).toContain("error: a cannot be started");
    expect(shell.events).toContain("stop at once");
  });
});

describe("a config reload while the gateway serves", () => {
  const ready = (shell: FakeShell) =>
    vi.waitFor(() => expect(shell.said).toContain(READY), { timeout: 60_000 });
  const event = (shell: FakeShell, name: string) =>
    vi.waitFor(() => expect(shell.events).toContain(name), { timeout: 60_000 });

  test("applies a valid config, keeps the old one when the new is invalid, and applies the next valid one", async () => {
    const { shell, ended } = serving();
    await ready(shell);
    config("a", "b");
    await event(shell, "reload a b");
    writeFileSync(join(folder, "cardea.json"), '{ "listen": { "admin": { "token": "${UNSET}", "x": 1 } } }');
    await event(shell, "refused 2");
    expect(shell.said).toContain(
      "error: cardea.json:1:35: listen.admin.token needs the variable UNSET, which is not set and has no default",
    );
    config("c");
    await event(shell, "reload c");
    rmSync(join(folder, "cardea.json"));
    await event(shell, "refused 1");
    expect(shell.said).toContain(
      "error: cardea.json:1:1: the config file cannot be read: there is no such file",
    );
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
    expect(shell.events).toEqual(["start", "reload a b", "refused 2", "reload c", "refused 1", "stop"]);
  });

  test("happens at SIGHUP even when the file is unchanged", async () => {
    const { shell, ended } = serving();
    await ready(shell);
    shell.signal("SIGHUP");
    await event(shell, "reload a");
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
  });

  test("keeps the listeners, and warns that a change of listen needs a restart", async () => {
    const listened: number[] = [];
    writeFileSync(join(folder, "cardea.json"), "{}");
    const { shell, ended } = serving({
      gateway: { reload: async ({ listen }) => void listened.push(listen.http.port) },
    });
    await ready(shell);
    writeFileSync(join(folder, "cardea.json"), '{ "listen": { "http": { "port": 9 } } }');
    await vi.waitFor(() => expect(listened).toEqual([8080]), { timeout: 60_000 });
    expect(shell.said).toContain("warn: a change of listen takes effect at the next start");
    const applied = "info: cardea.json is in effect except listen: nothing else has changed";
    await vi.waitFor(() => expect(shell.said).toContain(applied), { timeout: 60_000 });
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
  });

  test("keeps the sealing key, and warns that a change of keys needs a restart", async () => {
    const sealed: unknown[] = [];
    const reload = async ({ keys }: Config) => void sealed.push(keys?.state);
    const { shell, ended } = serving({ gateway: { reload } });
    await ready(shell);
    const write = (state: string, name: string) =>
      writeFileSync(
        join(folder, "cardea.json"),
        JSON.stringify({ keys: { state: state.repeat(32) }, mcpServers: { [name]: { command: "x" } } }),
      );
    write("a", "b");
    await vi.waitFor(() => expect(sealed).toHaveLength(1), { timeout: 60_000 });
    expect(shell.said).toContain("warn: a change of keys takes effect at the next start");
    expect(sealed).toEqual([undefined]);
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
  });

  testOf("cluster")(
    "stays a replica of the same cluster, and warns that a change of it needs a restart",
    async () => {
      const outages: unknown[] = [];
      const { shell, ended } = serving({
        gateway: {
          reload: async ({ features }) =>
            void outages.push((features.cluster as { onOutage?: string } | undefined)?.onOutage),
        },
      });
      await ready(shell);
      const cluster = { store: { url: "redis://s" }, peers: { listen: "10.0.0.7:9001" }, onOutage: "closed" };
      writeFileSync(
        join(folder, "cardea.json"),
        JSON.stringify({ keys: { state: "a".repeat(32) }, cluster }),
      );
      await vi.waitFor(() => expect(outages).toEqual([undefined]), { timeout: 60_000 });
      expect(shell.said).toContain("warn: a change of cluster takes effect at the next start");
      shell.signal("SIGTERM");
      expect(await ended).toBe(0);
    },
  );

  const sections: readonly (readonly [feature: string, key: string, content: object])[] = [
    ["audit", "audit", { audit: { file: "audit.jsonl" } }],
    ["tracing", "telemetry.otlp", { telemetry: { otlp: { endpoint: "http://127.0.0.1:4318" } } }],
  ];
  const builtIn = sections.filter(([feature]) => FEATURES.some(({ name }) => name === feature));
  test.each(builtIn.map(([, key, content]) => [key, content] as const))(
    "continues without %s, and warns that a change of it needs a restart",
    async (key, section) => {
      const seen: unknown[] = [];
      const { shell, ended } = serving({
        gateway: { reload: async (config) => void seen.push(config.features[key]) },
      });
      await ready(shell);
      writeFileSync(join(folder, "cardea.json"), JSON.stringify(section));
      await vi.waitFor(() => expect(seen).toEqual([undefined]), { timeout: 60_000 });
      expect(shell.said).toContain(`warn: a change of ${key} takes effect at the next start`);
      shell.signal("SIGTERM");
      expect(await ended).toBe(0);
    },
  );

  test("keeps the old config when the gateway cannot apply the new one", async () => {
    const { shell, ended } = serving({ gateway: { reload: () => Promise.reject(new Error("no")) } });
    await ready(shell);
    config("b");
    await event(shell, "refused 1");
    shell.signal("SIGTERM");
    expect(await ended).toBe(0);
  });
});

describe("stdio", () => {
  test("serves the host on stdin and stdout, and exits with 0 when the host disconnects", async () => {
    const served: unknown[] = [];
    const shell = fakeShell({
      cwd: folder,
      gateway: { stdio: async (...streams) => void served.push(...streams) },
    });
    expect(await runCommandLine(["stdio"], shell)).toBe(0);
    expect(served).toEqual([shell.stdin, shell.stdout, undefined]);
    expect(shell.events).toEqual(["stop"]);
    expect(shell.out()).toBe("");
  });

  test("serves the host as the principal of the environment variable", async () => {
    const served: unknown[] = [];
    const shell = fakeShell({
      cwd: folder,
      env: { CARDEA_PRINCIPAL: "alice" },
      gateway: { stdio: async (_input, _output, as) => void served.push(as) },
    });
    expect(await runCommandLine(["stdio"], shell)).toBe(0);
    expect(served).toEqual(["alice"]);
  });

  test.each([["stdio"], ["connect", "https://x.example/mcp"]])(
    "%s exits with 69 when a required server is unavailable, although its host disconnects",
    async (...argv) => {
      let goes = (): void => {};
      const stdio = () => new Promise<void>((resolve) => (goes = resolve));
      const stop = async (): Promise<void> => {
        goes();
        await new Promise(setImmediate);
      };
      const error = new GatewayError("upstream_unavailable", "upstream", "a cannot be started", {
        server: "a",
      });
      const shell = fakeShell({ cwd: folder, gateway: { failed: Promise.resolve(error), stdio, stop } });
      expect(await runCommandLine(argv, shell)).toBe(69);
      expect(shell.said).toContain("error: a cannot be started");
    },
  );

  test("exits with the code of an incomplete drain, although its host disconnects", async () => {
    let goes = (): void => {};
    const stdio = () => new Promise<void>((resolve) => (goes = resolve));
    const stop = async ({ immediate = false } = {}): Promise<void> => {
      if (!immediate) return never;
      goes();
      await new Promise(setImmediate);
    };
    const shell = fakeShell({ cwd: folder, gateway: { stdio, stop } });
    shell.signal("SIGINT");
    shell.signal("SIGINT");
    expect(await runCommandLine(["stdio"], shell)).toBe(130);
  });

  test("drains at a signal", async () => {
    const shell = fakeShell({ cwd: folder });
    shell.signal("SIGTERM");
    expect(await runCommandLine(["stdio"], shell)).toBe(0);
    expect(shell.events).toEqual(["stop"]);
  });

  test("connect serves one URL with its headers, which are redacted", async () => {
    const shell = fakeShell({ cwd: folder, gateway: { stdio: async () => {} } });
    const argv = [
      "connect",
      "https://x.example/mcp",
      "--header",
      "Authorization: Bearer s3cret",
      "--header",
      "X-A:b",
    ];
    expect(await runCommandLine(argv, shell)).toBe(0);
    expect(shell.configs[0]?.servers).toMatchObject([
      {
        prefix: "",
        transport: { url: "https://x.example/mcp", headers: { Authorization: "Bearer s3cret", "X-A": "b" } },
      },
    ]);
    expect(shell.secrets).toContain("Bearer s3cret");
  });

  test("connect reads headers from the environment, one per line", async () => {
    const shell = fakeShell({ env: { CARDEA_HEADER: "A: 1\nB: 2\n" }, gateway: { stdio: async () => {} } });
    expect(await runCommandLine(["connect", "https://x.example"], shell)).toBe(0);
    expect(shell.configs[0]?.servers).toMatchObject([{ transport: { headers: { A: "1", B: "2" } } }]);
  });
});
