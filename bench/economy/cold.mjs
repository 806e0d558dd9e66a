/**
 * From the spawn of a gateway to its first answered `tools/list`: Cardea with known lists, mcp-hub with the same 25
 * servers, and mcp-proxy, which takes one server only.
 */
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openHost } from "../hosts.mjs";
import { start, stop } from "../processes.mjs";
import { descendants } from "./descendants.mjs";
import { CAN_BE_ASKED, CANNOT_BE_ASKED, startCardea } from "./gateway.mjs";
import { installed, mcpServers } from "./servers.mjs";

/** A start of another gateway that takes longer is cancelled. */
const LIMIT_MS = 60_000;

/**
 * One start of Cardea. `listMs`: from the spawn to the answer of tools/list; `allMs`: from the ready line until a host of
 * each kind has all lists; `processes` below the gateway then.
 * @param {boolean} asked whether the host can be asked
 */
export async function coldStart(place, asked) {
  const gateway = await startCardea(place);
  const host = await openHost(gateway.url, "legacy", {
    capabilities: asked ? CAN_BE_ASKED : CANNOT_BE_ASKED,
  });
  const tools = await pages(host, "tools/list", "tools");
  const listMs = performance.now() - gateway.startedAt;
  for (const [method, key] of OTHER_LISTS) await pages(host, method, key);
  const allMs = performance.now() - gateway.readyAt;
  const { processes } = gateway.usage();
  await host.close();
  await gateway.stop();
  return { tools: tools.length, readyMs: gateway.readyAt - gateway.startedAt, listMs, allMs, processes };
}

const OTHER_LISTS = [
  ["prompts/list", "prompts"],
  ["resources/list", "resources"],
  ["resources/templates/list", "resourceTemplates"],
];

/** A whole list. The host does not check what it gets: the time is that of the gateway, for each of the three. */
async function pages(host, method, key) {
  const found = [];
  let cursor;
  do {
    const { result } = await host.request(method, cursor === undefined ? {} : { cursor });
    found.push(...result[key]);
    cursor = result.nextCursor;
  } while (cursor !== undefined);
  return found;
}

/** One start of mcp-hub with all servers; its endpoint speaks the transport of 2024-11-05. */
export async function startHub(folder) {
  const config = join(folder, "mcp-hub.json");
  writeFileSync(config, JSON.stringify({ mcpServers: mcpServers(folder) }));
  const port = await freePort();
  const args = [installed("mcp-hub", "dist/cli.js"), "--port", port, "--config", config];
  return firstList(args, folder, { url: `http://127.0.0.1:${port}/mcp`, era: "sse" });
}

/** One start of mcp-proxy with one server: it takes no more. */
export async function startProxy(folder) {
  const { command, args } = mcpServers(folder).everything;
  const port = await freePort();
  const program = installed("mcp-proxy", "dist/bin/mcp-proxy.mjs");
  const own = [program, "--port", port, "--host", "127.0.0.1", "--", command, ...args];
  return firstList(own, folder, { url: `http://127.0.0.1:${port}/mcp`, era: "legacy" });
}

/** `listMs`: until a `tools/list` was answered; `tools` in it; `wholeMs`: until the number of tools grew no more. */
async function firstList(args, folder, { url, era }) {
  const startedAt = performance.now();
  const env = { PATH: process.env.PATH, HOME: folder };
  const child = start("any", args, { cwd: folder, env });
  child.stdout.resume();
  try {
    const host = await connected(child, url, era);
    const count = async () => (await host.request("tools/list", {})).result.tools.length;
    const tools = await count();
    const listMs = performance.now() - startedAt;
    const whole = await grown(count, startedAt);
    const processes = descendants(child.pid).length;
    await host.close();
    return { tools, listMs, ...whole, processes };
  } finally {
    await stop(child);
  }
}

/** Asks until there are tools and their number has been the same for 10 s. */
async function grown(count, startedAt) {
  let last = 0;
  let wholeMs = 0;
  for (
    let now = 0;
    now < LIMIT_MS && (last === 0 || now - wholeMs < 10_000);
    now = performance.now() - startedAt
  ) {
    const tools = await count();
    if (tools !== last) wholeMs = performance.now() - startedAt;
    last = tools;
    await wait(200);
  }
  return { wholeTools: last, wholeMs };
}

async function connected(child, url, era) {
  const until = performance.now() + LIMIT_MS;
  for (;;) {
    try {
      return await openHost(url, era);
    } catch (error) {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${child.lastWords}`);
      if (performance.now() > until) throw error;
      await wait(10);
    }
  }
}

/** A port that is free at this moment: these programs take no 0. */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(String(port)));
    });
  });
}
