/** Three other gateways of the npm registry: how they are installed, and started in front of a server of the benchmark. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { run } from "../scripts/install.mjs";
import { openHost } from "./hosts.mjs";
import { start, stop } from "./processes.mjs";
import { stdioCommand } from "./targets.mjs";

const folder = fileURLToPath(new URL("../.cache/bench-peers/", import.meta.url));
export const VERSIONS = { "mcp-proxy": "6.7.19", "mcp-hub": "4.2.1", supergateway: "4.0.0" };

/** How each is started on a free port: its arguments after `node`, and where and how its endpoint is spoken to. */
export const PEERS = {
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

export function installPeers() {
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

/** Starts a peer in front of `upstreamUrl` (or of the stdio server). @throws Error with the reason why it does not run here */
export async function startPeer(name, upstreamUrl) {
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
