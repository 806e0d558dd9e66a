/** What is measured, and what stands behind it. Each resolves to `{ url, pids, stop }`. */
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { onCore, printed, start, stop } from "./processes.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
/** The program of this tree. */
const MAIN = join(here, "../dist/main.js");

/**
 * @param options `tools`: how many besides the three; `lie`: the interval of wrong responses; `listMs`: the duration of
 * a list
 */
export async function httpUpstream({ tools = 0, lie = 0, listMs = 0, core = 1 } = {}) {
  const flags = ["--tools", String(tools), "--lie", String(lie), "--list-ms", String(listMs)];
  const child = start(core, ["servers/http.mjs", ...flags]);
  const [port] = await printed(child, "stdout", /^\d+$/);
  const origin = `http://127.0.0.1:${port}`;
  /** Sends one of the server's own methods: `announce`, `counts`. */
  const control = async (method, params = {}) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: `bench/${method}`, params });
    return (await (await fetch(origin, { method: "POST", body })).json()).result;
  };
  return { url: `${origin}/mcp`, origin, port, pids: [child.pid], control, stop: () => stop(child) };
}

export async function passThrough(upstream, { core = 0 } = {}) {
  const child = start(core, ["servers/pass-through.mjs", upstream.port]);
  const [port] = await printed(child, "stdout", /^\d+$/);
  return { url: `http://127.0.0.1:${port}/mcp`, pids: [child.pid], stop: () => stop(child) };
}

/** The command line of the stdio server, on the core of the servers. */
export const stdioCommand = () => onCore(1, [process.execPath, join(here, "servers/stdio.mjs")]);

/** A server entry of Cardea's config for it. */
export function stdioServer() {
  const [command, ...args] = stdioCommand();
  return { command, args };
}

/** `count` servers of Cardea's config, all of them the same upstream: `s0`, `s1`, … */
export const httpServers = ({ origin }, count) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`s${i}`, { type: "http", url: `${origin}/mcp/${i}` }]),
  );

/** The tool `name` of each of those, as hosts know it. */
export const toolOfEach = (count, name = "echo") => Array.from({ length: count }, (_, i) => `s${i}__${name}`);

/**
 * Cardea with `servers` (as in `mcpServers`) and the given config, once it has connected to them all. Its log goes to a
 * file, because reading a pipe would cost time.
 * @param options `flags`: more of the command line; `env`: more of the environment; `nodeFlags`: options of Node; `main`: the
 * program of another build
 */
export async function cardea(
  servers,
  rest = {},
  { flags = [], env = {}, core = 0, nodeFlags = [], main = MAIN } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "cardea-bench-"));
  writeFileSync(join(folder, "cardea.json"), JSON.stringify({ mcpServers: servers, ...rest }));
  const log = join(folder, "log");
  const stdio = ["ignore", "ignore", openSync(log, "a")];
  const command = [...nodeFlags, main, "serve", "--config", join(folder, "cardea.json")];
  const ports = ["--port", "0", "--admin-port", "0"];
  const child = start(core, [...command, ...ports, ...flags], {
    stdio,
    env: { ...process.env, CARDEA_STATE_DIR: folder, ...env },
  });
  const [, url, adminUrl] = await readyLine(child, log);
  const page = async (name) => (await fetch(`${adminUrl}/api/v1/${name}`)).json();
  await met(page);
  return {
    url,
    adminUrl,
    page,
    pids: await pidsOf(child, flags, page),
    async stop() {
      await stop(child);
      rmSync(folder, { recursive: true });
    },
  };
}

/** Its process, and those of its workers. */
async function pidsOf({ pid }, flags, page) {
  if (!flags.includes("--workers")) return [pid];
  return [pid, ...(await page("workers")).map((worker) => worker.pid)];
}

async function readyLine(child, log) {
  for (let tries = 0; tries < 1000; tries += 1) {
    const text = readFileSync(log, "utf8");
    const match = /ready: (http:\S+) \(admin: (http:[^)]+)\)/.exec(text);
    if (match !== null) return match;
    if (child.exitCode !== null) throw new Error(`Cardea ended with ${child.exitCode}: ${text.slice(-4000)}`);
    await wait(20);
  }
  throw new Error(`Cardea did not get ready: ${readFileSync(log, "utf8").slice(-4000)}`);
}

/** Waits until no server is on its way any longer. @throws Error when one could not be connected */
async function met(page) {
  for (;;) {
    const servers = await page("servers");
    const bad = servers.find(({ state }) => state !== "ready" && state !== "starting");
    if (bad !== undefined) throw new Error(`${bad.name} is ${bad.state}: ${bad.lastError}`);
    if (servers.every(({ state }) => state === "ready")) return;
    await wait(20);
  }
}
