/**
 * `node scripts/files-of-a-call.mjs [--list]`: how many files of `src/` one call runs through, and one question, in each pair of
 * eras over HTTP. A file counts when V8 entered a function of it between the request and its answer (precise coverage of the
 * built, not bundled program, after calls that warm it up), in each of five samples.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { WebSocket } from "undici";
import { openHost } from "../bench/hosts.mjs";
import { httpUpstream } from "../bench/targets.mjs";
import { build } from "./build.mjs";
import { root } from "./install.mjs";

const SAMPLES = 5;
const PAIRS = [
  ["legacy", "modern"],
  ["modern", "legacy"],
  ["legacy", "legacy"],
  ["modern", "modern"],
];

/** The built gateway with one server of that era, under the inspector. */
async function startGateway(url, era) {
  const folder = mkdtempSync(join(tmpdir(), "cardea-files-"));
  const config = join(folder, "cardea.json");
  const server = { type: "http", url, prefix: "", protocol: era };
  writeFileSync(config, JSON.stringify({ mcpServers: { echo: server } }));
  const flags = ["--config", config, "--port", "0", "--admin-port", "0", "--state-dir", folder];
  const child = spawn(process.execPath, ["--inspect=0", join(root, "build/main.js"), "serve", ...flags], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    log += text;
  });
  const inLog = async (pattern) => {
    for (;;) {
      const match = pattern.exec(log);
      if (match !== null) return match[1];
      if (child.exitCode !== null) throw new Error(log);
      await wait(10);
    }
  };
  const inspector = await inLog(/Debugger listening on (ws:\S+)/);
  const endpoint = await inLog(/ready: (http:\S+)/);
  const stop = async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true });
  };
  return { inspector, endpoint, stop };
}

/** Requests of the inspector's protocol, over one socket. */
async function openInspector(url) {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", reject, { once: true });
  });
  const waiting = new Map();
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(data);
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  let last = 0;
  const send = (method, params = {}) =>
    new Promise((resolve) => {
      last += 1;
      waiting.set(last, resolve);
      socket.send(JSON.stringify({ id: last, method, params }));
    });
  return { send, close: () => socket.close() };
}

/** The files that ran since the last time this was asked, with the names of their functions. */
async function ranFiles(inspector) {
  const { result } = await inspector.send("Profiler.takePreciseCoverage");
  const files = new Map();
  for (const { url, functions } of result) {
    const [, path] = /\/build\/(.*)\.js$/.exec(url) ?? [];
    const ran = functions.filter(({ ranges }) => ranges[0].count > 0).map(({ functionName }) => functionName);
    if (path !== undefined && ran.length > 0) files.set(path, ran);
  }
  return files;
}

/** The files that ran in each of several samples: what runs by a timer is in few of them. */
async function ranInEach(samples, inspector, run) {
  let common;
  for (let i = 0; i < samples; i += 1) {
    await wait(30);
    await ranFiles(inspector);
    await run();
    const files = await ranFiles(inspector);
    common ??= files;
    for (const path of [...common.keys()]) if (!files.has(path)) common.delete(path);
  }
  return common;
}

/** How many of these files are not of `wire/` and `core/`, whose types and rules all layers share. */
const inLayers = (paths) => paths.filter((path) => !/^(wire|core)\//.test(path)).length;

build();
const server = await httpUpstream();
for (const [hostEra, serverEra] of PAIRS) {
  const gateway = await startGateway(server.url, serverEra);
  const inspector = await openInspector(gateway.inspector);
  const host = await openHost(gateway.endpoint, hostEra, { capabilities: { elicitation: { form: {} } } });
  await inspector.send("Profiler.enable");
  await inspector.send("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const params = { name: "ask", arguments: { text: "x" } };
  const accept = () => ({ action: "accept", content: { name: "a host" } });
  const work = {
    call: () => host.call("echo", { text: "x" }),
    question: () => host.converse("tools/call", params, accept),
  };
  const counted = {};
  for (const [kind, run] of Object.entries(work)) {
    for (let i = 0; i < 20; i += 1) await run();
    counted[kind] = await ranInEach(SAMPLES, inspector, run);
  }
  const files = [...counted.call.keys()];
  const more = [...counted.question.keys()].filter((file) => !counted.call.has(file));
  console.log(
    `${hostEra} host, ${serverEra} server: a call ${files.length} files, ${inLayers(files)} without wire/ and core/; ` +
      `a question ${more.length} more, ${inLayers(more)} without`,
  );
  if (process.argv.includes("--list")) {
    for (const [file, functions] of counted.call) console.log(`  ${file}: ${functions.join(" ")}`);
    console.log("  and for a question");
    for (const file of more) console.log(`  ${file}: ${counted.question.get(file).join(" ")}`);
  }
  await host.close();
  inspector.close();
  await gateway.stop();
}
await server.stop();
