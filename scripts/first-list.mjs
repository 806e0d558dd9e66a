/**
 * `node scripts/first-list.mjs [ROUNDS]`: three servers that `npx` fetches from the registry into an empty cache, in a
 * gateway that has just started with the config of `cardea init`, and hosts that list once: SDK 1.32 and 2.4, over stdio and HTTP. Every core is kept busy
 * meanwhile. Exits with 1 when a list is not whole. Needs the network; not part of the tests.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioClientTransport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as StreamableHTTPClientTransport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { build } from "./build.mjs";
import { root } from "./install.mjs";

const MAIN = `${root}dist/main.js`;
const TOOLS = 36;
const rounds = Number(process.argv[2] ?? 10);
const info = { name: "first-list", version: "1.0.0" };

const npx = (name, ...args) => ({
  command: "npx",
  args: ["-y", `@modelcontextprotocol/server-${name}`, ...args],
});

/** A folder with an empty npm cache, and the config that `cardea init` writes from a Claude Desktop file. */
function emptyFolder() {
  const folder = mkdtempSync(join(tmpdir(), "cardea-first-list-"));
  const config = join(folder, "cardea.jsonc");
  const env = { npm_config_cache: join(folder, "npm"), npm_config_update_notifier: "false" };
  const servers = { everything: npx("everything"), files: npx("filesystem", folder), memory: npx("memory") };
  const mcpServers = Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [name, { ...server, env }]),
  );
  const desktop = join(folder, "desktop.json");
  writeFileSync(desktop, JSON.stringify({ mcpServers }, null, 2));
  execFileSync(process.execPath, [MAIN, "init", "--from", desktop, "--out", config], {
    cwd: folder,
    env: environment(folder),
    stdio: "ignore",
  });
  const remove = () => {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    } catch {
      // npm may still be writing into its cache, after its server has ended.
    }
  };
  return { folder, config, remove };
}

const environment = (folder) => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  XDG_STATE_HOME: join(folder, "state"),
});

async function listOnce(client, transport) {
  const began = performance.now();
  await client.connect(transport);
  const connected = performance.now();
  const { tools } = await client.listTools();
  const listed = performance.now();
  await client.close();
  return { tools: tools.length, connectMs: connected - began, listMs: listed - connected };
}

async function overStdio(sdk, { folder, config }) {
  const place = {
    command: process.execPath,
    args: [MAIN, "stdio", "--config", config],
    env: environment(folder),
    stderr: "ignore",
  };
  return sdk === "1.32"
    ? listOnce(new Client1(info), new StdioClientTransport1(place))
    : listOnce(new Client(info), new StdioClientTransport(place));
}

async function overHttp(sdk, { folder, config }) {
  const args = [MAIN, "serve", "--config", config, "--port", "0", "--admin-port", "0"];
  const gateway = spawn(process.execPath, args, {
    env: environment(folder),
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  const url = await new Promise((resolve, reject) => {
    gateway.once("exit", () => reject(new Error(stderr)));
    gateway.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
      const [found] = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(stderr) ?? [];
      if (found !== undefined) resolve(new URL(found));
    });
  });
  try {
    return await (sdk === "1.32"
      ? listOnce(new Client1(info), new StreamableHTTPClientTransport1(url))
      : listOnce(new Client(info), new StreamableHTTPClientTransport(url)));
  } finally {
    gateway.removeAllListeners("exit");
    gateway.kill("SIGTERM");
    await once(gateway, "exit");
  }
}

build({ installed: true });
const busy = Array.from({ length: availableParallelism() }, () =>
  spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
);
let partial = 0;
try {
  for (const [way, list] of [
    ["stdio", overStdio],
    ["HTTP", overHttp],
  ]) {
    for (const sdk of ["1.32", "2.4"]) {
      const results = [];
      for (let round = 0; round < rounds; round += 1) {
        const place = emptyFolder();
        try {
          results.push(await list(sdk, place));
        } finally {
          place.remove();
        }
      }
      const whole = results.filter(({ tools }) => tools === TOOLS).length;
      partial += rounds - whole;
      const seconds = results.map(({ listMs }) => (listMs / 1000).toFixed(1)).join(" ");
      const counts = results.map(({ tools }) => tools).join(" ");
      console.log(
        `${way}, SDK ${sdk}: whole ${whole} of ${rounds}; tools ${counts}; the list took (s) ${seconds}`,
      );
    }
  }
} finally {
  for (const process of busy) process.kill("SIGKILL");
}
process.exitCode = partial === 0 ? 0 : 1;
