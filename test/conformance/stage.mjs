/** What the suite is run against: the fixture, and the built gateway with the fixture and others behind it. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const inRepository = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const cardea = process.env.CARDEA_TEST_MAIN ?? inRepository("dist/main.js");
const realServer = (name) => inRepository(`node_modules/@modelcontextprotocol/${name}/dist/index.js`);

/** Starts a fixture of one era over HTTP. */
export async function startFixture(era) {
  const main = inRepository("test/support/fixture/server.mjs");
  const fixture = start([main, "--era", era, "--transport", "http", "--tied"]);
  const [, url] = await fixture.says(/ready (\S+)/);
  return { url, stop: fixture.stop };
}

/** Starts the server with skills (SEP-2640), of one era, over HTTP. */
export async function startSkills(era) {
  const server = start([inRepository("test/support/servers/pages-and-skills.mjs"), "day", era, "http"]);
  const [, url] = await server.says(/ready (\S+)/);
  return { url, stop: server.stop };
}

/**
 * Starts the gateway with `upstream` under its own names. `others`: two real servers stand beside it under
 * prefixes, so that lists are merged and names are made while the suite looks on.
 */
export async function startGateway(upstream, { others }) {
  const folder = mkdtempSync(join(tmpdir(), "cardea-conformance-"));
  const beside = {
    everything: { command: process.execPath, args: [realServer("server-everything")] },
    memory: {
      command: process.execPath,
      args: [realServer("server-memory")],
      env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
    },
  };
  const file = join(folder, "cardea.json");
  const mcpServers = { suite: { type: "http", prefix: "", ...upstream }, ...(others && beside) };
  writeFileSync(file, JSON.stringify({ mcpServers }));
  const flags = ["serve", "--config", file, "--port", "0", "--admin-port", "0"];
  const gateway = start([cardea, ...flags], { CARDEA_STATE_DIR: join(folder, "state") });
  const [url] = await gateway.says(/http:\/\/[^\s"',]+\/mcp\b/);
  const stop = async () => {
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  /** An operator's command about the gateway. Resolves to the process; `says` reads its standard output. */
  const command = (...args) =>
    start([cardea, ...args, "--config", file], { CARDEA_STATE_DIR: join(folder, "state") }, "stdout");
  return { url, stop, stderr: gateway.stderr, command };
}

function start(args, env = {}, from = "stderr") {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ["pipe", from === "stdout" ? "pipe" : "ignore", "pipe"],
  });
  const exited = new Promise((resolve) => child.once("close", resolve));
  let stderr = "";
  let said = "";
  const waiting = new Set();
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  child[from].setEncoding("utf8").on("data", (text) => {
    said += text;
    for (const look of waiting) look();
  });
  const says = (pattern) =>
    new Promise((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(said);
        if (match === null) return;
        waiting.delete(look);
        resolve(match);
      };
      waiting.add(look);
      look();
      void exited.then((code) => reject(new Error(`${args[0]} ended with ${code}:\n${stderr}`)));
    });
  const stop = async () => {
    child.kill("SIGTERM");
    const kill = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await exited;
    clearTimeout(kill);
  };
  return { says, stop, exited, stderr: () => stderr };
}
