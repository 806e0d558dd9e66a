/**
 * `npm run bench:cold`: the first thousand calls of a process that has just started, one after the other, as one person's host makes them:
 * Cardea over HTTP and stdio upstreams and with both eras, beside the pass-through and, with `--peers`, mcp-hub, mcp-proxy and supergateway.
 * `--against REV`: beside the build of another revision. Every process is new in every run; the host and the server are warm. `--flags "…"`: options of V8 for Cardea's process, to try them.
 */
import { parseArgs } from "node:util";
import { buildVersion } from "../cluster/support/version.mjs";
import { build } from "../scripts/build.mjs";
import { openHost } from "./hosts.mjs";
import { median } from "./measure.mjs";
import { installPeers, startPeer } from "./peer-programs.mjs";
import { cpuMs, stopAll } from "./processes.mjs";
import { circumstances, writeSection } from "./results.mjs";
import { cardea, httpUpstream, passThrough, stdioServer } from "./targets.mjs";

/** Calls 1, 2 to 10, 11 to 100, 101 to 1,000. */
const PARTS = [1, 10, 100, 1000];

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "10" },
    flags: { type: "string", default: "" },
    only: { type: "string" },
    peers: { type: "boolean", default: false },
    against: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
const nodeFlags = values.flags.split(" ").filter((flag) => flag !== "");
const prefix = "";

/** How each target is started, and how its host speaks. */
function targetsAt(upstream, main) {
  const gateway = (server, options) => () => cardea({ echo: { ...server, prefix } }, {}, options);
  const server = { type: "http", url: upstream.url };
  const http = gateway(server, { nodeFlags });
  const stdio = gateway(stdioServer(), { nodeFlags });
  const own = {
    "pass-through, legacy": { start: () => passThrough(upstream), era: "legacy" },
    "pass-through, modern": { start: () => passThrough(upstream), era: "modern" },
    "Cardea, HTTP, legacy": { start: http, era: "legacy" },
    "Cardea, HTTP, modern": { start: http, era: "modern" },
    "Cardea, stdio, legacy": { start: stdio, era: "legacy" },
    "Cardea, stdio, modern": { start: stdio, era: "modern" },
  };
  const before = {
    "Cardea before, HTTP, legacy": { start: gateway(server, { main }), era: "legacy" },
    "Cardea before, HTTP, modern": { start: gateway(server, { main }), era: "modern" },
    "Cardea before, stdio, legacy": { start: gateway(stdioServer(), { main }), era: "legacy" },
    "Cardea before, stdio, modern": { start: gateway(stdioServer(), { main }), era: "modern" },
  };
  const others = ["mcp-hub", "mcp-proxy", "supergateway"].map((name) => [
    name,
    { start: () => startPeer(name, upstream.url) },
  ]);
  return {
    ...own,
    ...(main !== undefined && before),
    ...(values.peers && Object.fromEntries(others)),
  };
}

/** One process from its first call to its thousandth: for each part the latencies (ms), and the processor time (ms) of the process. */
async function life({ start, era }) {
  const target = await start();
  const { era: spoken = era, tool = "echo" } = target.job ?? {};
  const host = await openHost(target.url, spoken);
  const parts = [];
  let at = 0;
  for (const end of PARTS) {
    const latencies = [];
    const before = cpuMs(target.pids);
    for (; at < end; at += 1) {
      const text = `${at}/${"-".repeat(32)}`.slice(0, 32);
      const from = performance.now();
      const { message } = await host.call(tool, { text });
      latencies.push(performance.now() - from);
      const said = message?.result?.content?.[0]?.text;
      if (said !== text) throw new Error(`wrong answer to ${text}: ${JSON.stringify(message)}`);
    }
    parts.push({ latencies, cpuMs: cpuMs(target.pids) - before });
  }
  await host.close();
  await target.stop();
  return parts;
}

/** The host's own code and the server are warm before anything is measured. */
async function warmUp(upstream) {
  for (const era of ["legacy", "modern"]) {
    const host = await openHost(upstream.url, era);
    for (let at = 0; at < 5000; at += 1) await host.call("echo", { text: "warm" });
    await host.close();
  }
}

const figuresOf = (lives, part) => {
  const latencies = lives.flatMap((parts) => parts[part].latencies).toSorted((a, b) => a - b);
  const calls = PARTS[part] - (PARTS[part - 1] ?? 0);
  return {
    p50: median(latencies),
    p99: latencies[Math.min(latencies.length - 1, Math.floor(0.99 * latencies.length))],
    cpuUs: (median(lives.map((parts) => parts[part].cpuMs)) * 1000) / calls,
  };
};

build();
if (values.peers) installPeers();
const other = values.against === undefined ? undefined : buildVersion(values.against);
const lives = new Map();
try {
  const upstream = await httpUpstream();
  await warmUp(upstream);
  const all = Object.entries(targetsAt(upstream, other?.main)).filter(([name]) =>
    name.includes(values.only ?? ""),
  );
  for (let run = 0; run < Number(values.runs); run += 1) {
    for (const [name, target] of run % 2 === 0 ? all : all.toReversed())
      lives.set(name, [...(lives.get(name) ?? []), await life(target)]);
  }
} finally {
  await stopAll();
  await other?.stop();
}
const head = [
  "",
  ...["call 1", "2 to 10", "11 to 100", "101 to 1,000"].map(
    (part) => `${part}: p50, p99 ms; processor µs a call`,
  ),
];
const rows = [...lives].map(([name, of]) => [
  name,
  ...PARTS.map((_, part) => {
    const { p50, p99, cpuUs } = figuresOf(of, part);
    return `${p50.toFixed(2)}, ${p99.toFixed(2)}; ${cpuUs.toFixed(0)}`;
  }),
]);
const table = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
console.log(table);
if (values.write) {
  const text = `${circumstances(`npm run bench:cold -- ${process.argv.slice(2).join(" ")}`)}; ${values.runs} processes of each, one after the other, in turns.\n\n${table}`;
  writeSection("bench:cold", "The first thousand calls of a process", text);
}
