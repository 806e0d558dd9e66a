/**
 * `npm run bench:peers`: P12. Installs three other gateways in a folder of their own, and measures each beside Cardea
 * and the pass-through, round by round in the same run. A peer that cannot run here is named with the reason.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { build } from "../scripts/build.mjs";
import { run } from "../scripts/install.mjs";
import { asTable, inOneLine, within } from "./goals.mjs";
import { openHost } from "./hosts.mjs";
import { createMeasure } from "./measure.mjs";
import { start, stop, stopAll } from "./processes.mjs";
import { circumstances, conditions, writeSection } from "./results.mjs";
import { cardea, httpUpstream, passThrough, stdioCommand, stdioServer } from "./targets.mjs";

const folder = fileURLToPath(new URL("../.cache/bench-peers/", import.meta.url));
const VERSIONS = { "mcp-proxy": "6.7.19", "mcp-hub": "4.2.1", supergateway: "4.0.0" };
const SESSIONS = 16;

/** How each is started on a free port: its arguments after `node`, and where and how its endpoint is spoken to. */
const PEERS = {
  "mcp-hub": {
    upstream: "http",
    program: "mcp-hub/dist/cli.js",
    path: "/mcp",
    /** Its endpoint speaks the transport of 2024-11-05 and nothing newer. */
    job: { era: "sse", tool: "echo__echo" },
    args(port, url) {
      const config = `${folder}hub.json`;
      writeFileSync(config, JSON.stringify({ mcpServers: { echo: { url } } }));
      return ["--port", port, "--config", config];
    },
  },
  "mcp-proxy": {
    upstream: "stdio",
    program: "mcp-proxy/dist/bin/mcp-proxy.mjs",
    path: "/mcp",
    job: { era: "legacy", tool: "echo" },
    args: (port) => ["--port", port, "--host", "127.0.0.1", "--", ...stdioCommand()],
  },
  supergateway: {
    upstream: "stdio",
    program: "supergateway/dist/index.js",
    path: "/mcp",
    job: { era: "legacy", tool: "echo" },
    /** Stateful: else it starts a process for each call. */
    args: (port) => {
      const words = stdioCommand().join(" ");
      return [
        "--stdio",
        words,
        "--outputTransport",
        "streamableHttp",
        "--stateful",
        "--port",
        port,
        "--logLevel",
        "none",
      ];
    },
  },
};

function install() {
  const wanted = JSON.stringify({ private: true, dependencies: VERSIONS });
  mkdirSync(folder, { recursive: true });
  const missing = Object.values(PEERS).some(({ program }) => !existsSync(`${folder}node_modules/${program}`));
  if (!missing) return;
  writeFileSync(`${folder}package.json`, wanted);
  run("npm", ["install", "--no-audit", "--no-fund", "--no-engine-strict", "--ignore-scripts"], {
    cwd: folder,
  });
}

/** A port that is free at this moment: these programs do not accept 0. */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(String(port)));
    });
  });
}

/** @throws Error with the reason why it does not run here */
async function startPeer(name, upstreamUrl) {
  const { program, args, path, job } = PEERS[name];
  const port = await freePort();
  const child = start(0, [`${folder}node_modules/${program}`, ...args(port, upstreamUrl)]);
  child.stdout.resume();
  const target = { url: `http://127.0.0.1:${port}${path}`, pids: [child.pid], job, stop: () => stop(child) };
  try {
    await firstAnswer(target, child);
    return target;
  } catch (error) {
    await target.stop();
    throw error;
  }
}

async function firstAnswer({ url, job }, child) {
  let why = "no answer within 20 s";
  for (let tries = 0; tries < 100; tries += 1) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${child.lastWords}`);
    try {
      const host = await openHost(url, job.era);
      const { message } = await host.call(job.tool, { text: "there?" });
      await host.close();
      why = JSON.stringify(message).slice(0, 300);
      if (why.includes('"there?"')) return;
    } catch (error) {
      why = error.message;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(why);
}

build();
install();
const measure = createMeasure({ roundSeconds: 0.6, rounds: 12, again: 60, seconds: 2, warmSeconds: 1 });
const rows = [];
const figures = [];
const absent = [];
try {
  const upstream = await httpUpstream();
  const ruler = await passThrough(upstream);
  const servers = {
    http: { type: "http", url: upstream.url, prefix: "" },
    stdio: { ...stdioServer(), prefix: "" },
  };
  for (const [transport, server] of Object.entries(servers)) {
    const targets = { "pass-through": ruler, Cardea: await cardea({ echo: server }) };
    for (const name of Object.keys(PEERS).filter((peer) => PEERS[peer].upstream === transport)) {
      try {
        targets[name] = await startPeer(name, upstream.url);
      } catch (error) {
        absent.push(`${name} ${VERSIONS[name]} does not run here: ${error.message.trim().split("\n")[0]}`);
        console.log(absent.at(-1));
      }
    }
    const result = await measure.interleave(targets, { era: "legacy", sessions: SESSIONS });
    for (const name of Object.keys(targets)) {
      const { perSecond, p50, p99, cpuUs, rss } = result[name];
      const ratio = result.against(name, "pass-through", "perSecond").toFixed(2);
      const version = VERSIONS[name] === undefined ? "" : ` ${VERSIONS[name]}`;
      figures.push(
        `| ${transport} | ${name}${version} | ${Math.round(perSecond)} | ${ratio} | ${p50.toFixed(2)} | ${p99.toFixed(2)} | ${cpuUs.toFixed(0)} | ${rss.toFixed(0)} |`,
      );
      if (VERSIONS[name] !== undefined) {
        const faster = {
          value: result.against("Cardea", name, "perSecond"),
          goal: 10,
          floor: 5,
          atLeast: true,
          unit: " ×",
          digits: 1,
        };
        const shorter = {
          value: result.against(name, "Cardea", "p99"),
          goal: 10,
          atLeast: true,
          unit: " ×",
          digits: 1,
        };
        rows.push(
          within("P12", `calls a second, and p99 the other way round, against ${name} (${transport})`, [
            faster,
            shorter,
          ]),
        );
        console.log(inOneLine(rows.at(-1)));
      }
      if (name !== "pass-through") await targets[name].stop();
    }
  }
} finally {
  await stopAll();
}
const state = conditions(measure.notes);
const table = [
  "| upstream | gateway | calls/s | of pass-through | p50 ms | p99 ms | processor µs a call | MiB |",
  "|---|---|---|---|---|---|---|---|",
  ...figures,
];
console.log([...table, state].join("\n"));
const text = [
  `${circumstances("npm run bench:peers")}; ${SESSIONS} legacy sessions, a 32-byte echo. ${state}`,
  table.join("\n"),
  asTable(rows),
  ...absent,
];
writeSection("bench:peers", "Against others", text.join("\n\n"));
