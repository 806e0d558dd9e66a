/**
 * `npm run bench:cluster [-- --quick]`: what a call costs one to four replicas behind HAProxy, in processor time of all replicas together:
 * modern hosts, legacy hosts with plain round robin, legacy hosts whose session id leads to its replica, and the hop between
 * replicas. Writes its section of results.md and curves/replicas.svg. Needs redis-server and haproxy of Debian.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startCluster } from "../cluster/support/cluster.mjs";
import { startBalancer } from "../cluster/support/haproxy.mjs";
import { build } from "../scripts/build.mjs";
import { createMeasure } from "./measure.mjs";
import { plot } from "./plot.mjs";
import { stopAll } from "./processes.mjs";
import { circumstances, conditions, writeSection } from "./results.mjs";
import { httpUpstream } from "./targets.mjs";

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false }, built: { type: "boolean", default: false } },
});
if (!values.built) build();
const rounds = values.quick ? 3 : 9;
const measure = createMeasure({ roundSeconds: 1, rounds, again: 20, seconds: 2, warmSeconds: 1 });
const MOST = 4;
/** For each replica: a process that has more to do at once takes less time for each call. */
const SESSIONS = 8;

/** Owns what is started, as a row of the fault matrix does. */
function owner() {
  const owned = [];
  return {
    own(thing) {
      owned.push(thing);
      return thing;
    },
    async stop() {
      for (const thing of owned.reverse()) await thing.stop();
    },
  };
}

async function measured(count, upstream) {
  const row = owner();
  try {
    const mcpServers = { echo: { type: "http", url: upstream.url, prefix: "" } };
    const cluster = await startCluster(row, { count, config: { mcpServers } });
    const sticky = row.own(await startBalancer(cluster.replicas, { sticky: true }));
    const pids = cluster.replicas.map(({ pid }) => pid);
    return await measure.interleave({
      modern: { url: cluster.url, pids, job: { era: "modern", sessions: SESSIONS * count } },
      plain: { url: cluster.url, pids, job: { era: "legacy", sessions: SESSIONS * count } },
      sticky: { url: sticky.url, pids, job: { era: "legacy", sessions: SESSIONS * count } },
    });
  } finally {
    await row.stop();
  }
}

const KINDS = {
  modern: "modern hosts",
  plain: "legacy hosts, plain round robin",
  sticky: "legacy hosts, sent to the replica of their session",
};
const upstream = await httpUpstream();
const results = [];
try {
  for (let count = 1; count <= MOST; count += 1) {
    const result = await measured(count, upstream);
    results.push({ count, ...result });
    for (const kind of Object.keys(KINDS)) {
      const { cpuUs, p50, p99, perSecond } = result[kind];
      console.log(
        `${count} ${kind.padEnd(7)} ${cpuUs.toFixed(0)} us p50 ${p50.toFixed(2)} p99 ${p99.toFixed(2)} ${perSecond.toFixed(0)}/s`,
      );
    }
  }
} finally {
  await upstream.stop();
  await stopAll();
}

const [alone] = results;
/** Throughput of N replicas with a core each, in multiples of one replica: by processor time. */
const times = ({ count, ...of }, kind) => (count * alone[kind].cpuUs) / of[kind].cpuUs;
const rows = results.map((one) => {
  const cells = Object.keys(KINDS).flatMap((kind) => [
    `${one[kind].cpuUs.toFixed(0)} µs`,
    `${times(one, kind).toFixed(1)} ×`,
  ]);
  return `| ${one.count} | ${cells.join(" | ")} |`;
});
const most = results.at(-1);
const share = (MOST - 1) / MOST;
const hopUs = (most.plain.cpuUs - most.sticky.cpuUs) / share;
const hopMs = (most.plain.p50 - most.sticky.p50) / share;
const text = `${circumstances("npm run bench:cluster", "replicas not pinned")}.

Processor time of all replicas together for one call (\`tools/call\` of an echo server over HTTP, ${SESSIONS} sessions for each replica), and what follows for
replicas with a core each, in multiples of one replica. The machine has too few cores to run them at full speed beside each
other, so throughput is not measured but follows from processor time. HAProxy's own time is not counted.

| replicas | ${Object.values(KINDS)
  .map((words) => `${words} | throughput`)
  .join(" | ")} |
|---|${Object.keys(KINDS)
  .map(() => "---|---|")
  .join("")}
${rows.join("\n")}

A hop from one replica to another costs ${hopUs.toFixed(0)} µs of processor time (both replicas together) and adds ${hopMs.toFixed(2)} ms to the
median: the difference between the two ways of legacy hosts with ${MOST} replicas, of whose requests three quarters take it.
${conditions(measure.notes)}`;
if (!values.quick) {
  writeSection("bench:cluster", "Several replicas", text);
  const series = Object.entries(KINDS).map(([kind, name]) => ({
    name,
    points: results.map((one) => [one.count, times(one, kind)]),
  }));
  writeFileSync(
    fileURLToPath(new URL("curves/replicas.svg", import.meta.url)),
    plot({ title: "Throughput by processor time", x: "replicas", y: "multiples of one", series }),
  );
}
console.log(text);
