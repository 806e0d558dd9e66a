/** One Cardea in front of the 25 servers, and the two hosts that use it. */
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { start, stop } from "../processes.mjs";
import { descendants, memoryMiB } from "./descendants.mjs";

/** What a host declares that a server may ask something: such a host gets processes of its own. */
export const CAN_BE_ASKED = { elicitation: {}, sampling: {}, roots: { listChanged: true } };
export const CANNOT_BE_ASKED = {};

/** How often (ms) processes and states are read while something is awaited. */
const POLL_MS = 100;
const STEADY_MS = 6_000;

/**
 * Starts `cardea serve` and resolves at its ready line. `readyAt` is the time of that line (ms, `performance.now()`), and
 * `startedAt` the time of the spawn.
 * @param {{ program: string, config: string, folder: string }} place `program` is a `main.js`; `folder` gets its state
 */
export async function startCardea({ program, config, folder }) {
  const startedAt = performance.now();
  const args = [program, "serve", "--config", config, "--port", "0", "--admin-port", "0"];
  const env = { PATH: process.env.PATH, HOME: folder, CARDEA_STATE_DIR: `${folder}/state` };
  const child = start("any", args, { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
  const { url, adminUrl, readyAt } = await readyLine(child);
  const servers = async () => (await fetch(`${adminUrl}/api/v1/servers`)).json();
  return { url, startedAt, readyAt, servers, usage: () => usageOf(child.pid), stop: () => stop(child) };
}

function readyLine(child) {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (chunk) => {
      text = (text + chunk).slice(-8000);
      const [, url, adminUrl] = /ready: (http:\S+) \(admin: (http:[^)\s]+)\)/.exec(text) ?? [];
      if (url !== undefined) resolve({ url, adminUrl, readyAt: performance.now() });
    });
    child.once("exit", (code) => reject(new Error(`Cardea ended with ${code}: ${text}`)));
  });
}

/** `processes` below the gateway, and the memory (MiB) of these and the gateway together. */
function usageOf(pid) {
  const below = descendants(pid);
  return { processes: below.length, ...memoryMiB([pid, ...below]) };
}

/**
 * Polls until `holds` is true of what `read` resolves to. Resolves to the milliseconds that took.
 * @throws Error after `limitMs`
 */
export async function until(what, read, holds, limitMs) {
  const began = performance.now();
  for (;;) {
    const value = await read();
    const ms = performance.now() - began;
    if (holds(value)) return ms;
    if (ms > limitMs)
      throw new Error(`${what}: not within ${limitMs / 1000} s; last ${JSON.stringify(value)}`);
    await wait(POLL_MS);
  }
}

/** Until no server is in its first start any longer. */
export const settled = (gateway, limitMs) =>
  until(
    "no server is starting",
    gateway.servers,
    (all) => all.every(({ state }) => state !== "starting"),
    limitMs,
  );

/** Until the number of processes has not changed for STEADY_MS. */
export async function steady(gateway) {
  let since = performance.now();
  let last = -1;
  const read = () => {
    const { processes } = gateway.usage();
    if (processes !== last) since = performance.now();
    last = processes;
    return performance.now() - since;
  };
  await until("the number of processes is steady", read, (ms) => ms > STEADY_MS, 120_000);
}

/** Until nothing runs below the gateway. */
export const withoutProcesses = (gateway, limitMs) =>
  until("no process runs", gateway.usage, ({ processes }) => processes === 0, limitMs);

/** A host of the SDK 1.x over HTTP. */
export async function connectHost(url, capabilities) {
  const client = new Client({ name: "economy", version: "1.0.0" }, { capabilities });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  const tools = () => pages((params) => client.listTools(params), "tools", "name");
  const otherLists = async () => ({
    prompts: await pages((params) => client.listPrompts(params), "prompts", "name"),
    resources: await pages((params) => client.listResources(params), "resources", "uri"),
    templates: await pages(
      (params) => client.listResourceTemplates(params),
      "resourceTemplates",
      "uriTemplate",
    ),
  });
  return {
    tools,
    otherLists,
    /** Names, by kind, of everything that the host sees. */
    lists: async () => ({ tools: await tools(), ...(await otherLists()) }),
    call: (name, args) => client.callTool({ name, arguments: args }),
    /** Ends the session as well: closing alone leaves it open at the gateway. */
    async leave() {
      await transport.terminateSession();
      await client.close();
    },
    /** Closes its streams and says nothing, as many programs do. */
    vanish: () => client.close(),
  };
}

async function pages(list, key, name) {
  const found = [];
  let cursor;
  do {
    const page = await list({ cursor });
    found.push(...page[key].map((entry) => entry[name]));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return found;
}
