/** The built program as a process: what only a process can show. */
import "../features/admin/needed.js";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { packageVersion } from "../../src/cli/help.js";
import { allMet } from "../support/cardea.js";
import { hasFeature } from "../support/features.js";
import { withFreshState } from "../support/fresh-state.js";
import { sample } from "../support/sample.js";
import { until } from "../support/until.js";

const main = fileURLToPath(new URL("../../dist/main.js", import.meta.url));
const scripted = fileURLToPath(new URL("../support/scripted/stdio.mjs", import.meta.url));
const SERVER = [scripted, "modern", "/dev/null"];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cardea-process-"));
  const server = {
    command: process.execPath,
    args: SERVER,
  };
  const listen = { http: { port: 0 }, admin: { port: 0 } };
  writeFileSync(join(folder, "cardea.json"), JSON.stringify({ listen, mcpServers: { one: server } }));
  writeFileSync(join(folder, "bad.json"), '{ "nonsense": 1 }');
});
afterAll(() => rmSync(folder, { recursive: true }));

const running = new Set<ChildProcessWithoutNullStreams>();
afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
});

class Run {
  readonly child: ChildProcessWithoutNullStreams;
  stdout = "";
  stderr = "";
  readonly ended: Promise<number | null>;
  #grown: (() => void)[] = [];

  constructor(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    nodeFlags: readonly string[] = [],
  ) {
    this.child = spawn(process.execPath, [...nodeFlags, main, ...args], {
      cwd: folder,
      env: withFreshState({ PATH: process.env.PATH, ...env }),
    });
    running.add(this.child);
    this.child.stdout.on("data", (chunk) => {
      this.stdout += String(chunk);
      this.#tell();
    });
    this.child.stderr.on("data", (chunk) => {
      this.stderr += String(chunk);
      this.#tell();
    });
    this.child.stdin.on("error", () => {});
    this.ended = new Promise((resolve) => {
      this.child.on("close", (code) => {
        running.delete(this.child);
        this.#tell();
        resolve(code);
      });
    });
  }

  /** Waits until the output so far has what `find` looks for. */
  async until<T>(find: () => T | undefined | null): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined && found !== null) return found;
      if (!running.has(this.child)) throw new Error(`it ended before that: ${this.stderr}`);
      await new Promise<void>((resolve) => this.#grown.push(resolve));
    }
  }

  #tell(): void {
    for (const grown of this.#grown.splice(0)) grown();
  }
}

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

const linesOf = (text: string): readonly Record<string, unknown>[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test("--version prints the version of the package", async () => {
  const run = new Run(["--version"]);
  expect(await run.ended).toBe(0);
  expect([run.stdout, run.stderr]).toEqual([`${packageVersion()}\n`, ""]);
});

/** What ends the program before it serves: each starts it once. */
const DRAWN = sample("starts that fail", ["config", "name", "usage", "log level", "port"] as const, 3);

test.runIf(DRAWN.includes("config"))(
  "the program exits with 78 for an invalid config, and stderr has JSON lines where it is no terminal",
  async () => {
    const run = new Run(["serve", "--config", "bad.json"]);
    expect(await run.ended).toBe(78);
    expect(run.stdout).toBe("");
    expect(linesOf(run.stderr)).toMatchObject([
      { level: "info", msg: "using bad.json, named by --config" },
      {
        level: "error",
        msg: expect.stringContaining('bad.json:1:3: the file has an unknown key "nonsense"'),
      },
    ]);
  },
);

test.runIf(DRAWN.includes("name") && hasFeature("sign-in"))(
  "the config file is named whole where a server has a path of the same folder in its environment",
  async () => {
    const random = join(folder, "k3x9q7w2");
    const file = join(random, "cardea.json");
    mkdirSync(random);
    const env = { MEMORY_FILE_PATH: join(random, "memory.jsonl") };
    writeFileSync(file, JSON.stringify({ mcpServers: { memory: { command: "x", env } } }));
    const run = new Run(["logins", "--config", file]);
    expect(await run.ended).toBe(0);
    expect(run.stderr).toContain(`"msg":"using ${file}, named by --config"`);
  },
);

test.runIf(DRAWN.includes("usage"))("the program exits with 2 for a usage error", async () => {
  const run = new Run(["serve", "--prot"]);
  expect(await run.ended).toBe(2);
  expect(run.stderr).toContain("Did you mean --port?");
});

test.runIf(DRAWN.includes("log level"))("an unknown log level is a usage error", async () => {
  const run = new Run(["check"], { CARDEA_LOG_LEVEL: "verbose" });
  expect(await run.ended).toBe(2);
  expect(run.stderr).toBe("error: CARDEA_LOG_LEVEL must be one of error, warn, info, debug, silent\n");
});

test.runIf(DRAWN.includes("port"))(
  "the program exits with 1 for a port in use (EADDRINUSE), and prints one line with advice",
  async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const run = new Run(["serve", "--port", String(port)]);
    expect(await run.ended).toBe(1);
    other.close();
    const { time: _, ...last } = linesOf(run.stderr).at(-1) ?? {};
    expect(last).toEqual({
      level: "error",
      msg: `the gateway cannot start: listen EADDRINUSE: address already in use 127.0.0.1:${port}; is it running already? --port N takes another port, 0 a free one`,
    });
  },
);

describe("serve", () => {
  const ready = (run: Run) =>
    run.until(() =>
      /ready: (http:\/\/127\.0\.0\.1:\d+\/mcp) \(admin: (http:\/\/127\.0\.0\.1:\d+)\)/.exec(run.stderr),
    );

  test("serves at the URLs of its ready line, and exits with 0 at SIGTERM", async () => {
    const run = new Run(["serve"]);
    const [, url = "", adminUrl = ""] = await ready(run);
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(initialize) });
    expect(response.status).toBe(200);
    expect((await fetch(`${adminUrl}/healthz`)).status).toBe(200);
    run.child.kill("SIGTERM");
    expect(await run.ended).toBe(0);
    expect(run.stdout).toBe("");
    expect(linesOf(run.stderr).filter(({ msg }) => String(msg).startsWith("ready"))).toHaveLength(1);
  });

  test("has written its run file when it prints the ready line", async () => {
    const state = mkdtempSync(join(folder, "state-"));
    const run = new Run(["serve"], { CARDEA_STATE_DIR: state });
    const [, url] = await ready(run);
    const files = readdirSync(join(state, "run"));
    expect(files).toHaveLength(1);
    const entry = JSON.parse(readFileSync(join(state, "run", files[0] ?? ""), "utf8"));
    expect(entry).toMatchObject({ url, pid: run.child.pid });
    run.child.kill("SIGTERM");
    expect(await run.ended).toBe(0);
    expect(readdirSync(join(state, "run"))).toEqual([]);
  });

  test("as a bridge serves one server without a name prefix", async () => {
    const run = new Run(["--port", "0", "--admin-port", "0", "--", process.execPath, ...SERVER], {
      CARDEA_LOG_LEVEL: "info",
    });
    const [, url = "", adminUrl = ""] = await ready(run);
    await until("its server", () => allMet(adminUrl));
    const list = new Run(["connect", url]);
    list.child.stdin.write(`${JSON.stringify(initialize)}\n`);
    list.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
    list.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" })}\n`);
    const answer = await list.until(() =>
      list.stdout.endsWith("\n") ? linesOf(list.stdout).find(({ id }) => id === 2) : undefined,
    );
    expect(JSON.stringify(answer)).toContain('"name":"echo"');
    list.child.stdin.end();
    expect(await list.ended).toBe(0);
    run.child.kill("SIGINT");
    expect(await run.ended).toBe(0);
  });
});

/** Runs `failure` as soon as the program is there to catch it. */
const onceCatching = (failure: string) =>
  `const wait = setInterval(() => {
    if (process.listenerCount("unhandledRejection") === 0) return;
    clearInterval(wait);
    ${failure};
  }, 5)`;

const FAILURES = [
  ["uncaughtException", onceCatching("throw new Error('boom')")],
  ["unhandledRejection", onceCatching("void Promise.reject(new Error('boom'))")],
] as const;

test.each(sample("failures of the program", FAILURES, 1))(
  "%s is logged and exits with 1",
  async (sentence, program) => {
    const run = new Run(["serve"], {}, ["--import", `data:text/javascript,${encodeURIComponent(program)}`]);
    expect(await run.ended).toBe(1);
    // While it is written, the start may continue and log that.
    expect(linesOf(run.stderr)).toContainEqual(
      expect.objectContaining({
        level: "error",
        msg: `${sentence}; exiting`,
        error: expect.objectContaining({ message: "boom" }),
      }),
    );
  },
);

describe("stdio", () => {
  test("writes only JSON-RPC to stdout, and exits with 0 when stdin ends", async () => {
    const run = new Run(["stdio"]);
    run.child.stdin.write(`${JSON.stringify(initialize)}\n`);
    await run.until(() => (run.stdout.endsWith("\n") ? true : undefined));
    run.child.stdin.end();
    expect(await run.ended).toBe(0);
    expect(linesOf(run.stdout)).toMatchObject([
      { jsonrpc: "2.0", id: 1, result: { serverInfo: { name: "cardea" } } },
    ]);
    expect(linesOf(run.stderr)[0]).toMatchObject({ msg: "using cardea.json" });
  });
});

describe("list and call", () => {
  test("print only data to stdout", async () => {
    const run = new Run(["list", "tools", "--json"]);
    expect(await run.ended).toBe(0);
    const tools = JSON.parse(run.stdout) as readonly { name: string; server: string }[];
    expect(tools).toContainEqual(expect.objectContaining({ name: "one__answer_this", server: "one" }));
    const result = { content: [], structuredContent: { entities: [], relations: [] } };
    const call = new Run(["call", "one__answer_this", JSON.stringify({ result }), "--json"]);
    expect(await call.ended).toBe(0);
    expect(JSON.parse(call.stdout)).toMatchObject({ structuredContent: { entities: [], relations: [] } });
  });

  test("survive a closed stdout (EPIPE)", async () => {
    const run = new Run(["list"]);
    run.child.stdout.destroy();
    expect(await run.ended).toBe(0);
    expect(run.stderr).not.toContain("EPIPE");
  });
});
