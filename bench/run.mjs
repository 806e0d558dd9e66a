/**
 * `npm run bench [-- --quick]`: every workload of Cardea against the pass-through, interleaved in one run; medians
 * of three rounds. With `--quick` short rounds, and a non-zero exit below the floors.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "../scripts/build.mjs";
import { load, pinned, stopAll } from "./processes.mjs";
import { cardea, httpUpstream, passThrough, stdioServer } from "./targets.mjs";

const { values } = parseArgs({ options: { quick: { type: "boolean" }, only: { type: "string" } } });
const seconds = values.quick ? 1 : 3;
const rounds = values.quick ? 1 : 3;

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const ratio = (a, b) => a / b;

/** Measures `target` and the ruler in turn and returns the medians of both. */
async function against(ruler, target, job, targetJob = job) {
  const runs = { ruler: [], target: [] };
  for (let round = 0; round < rounds; round += 1) {
    runs.ruler.push(await load(ruler.url, ruler.pid, { seconds, ...job }));
    runs.target.push(await load(target.url, target.pid, { seconds, ...targetJob }));
  }
  const of = (list) => ({
    perSecond: median(list.map((run) => run.perSecond)),
    p50: median(list.map((run) => run.p50)),
    p99: median(list.map((run) => run.p99)),
    cpuUs: median(list.map((run) => run.cpuUs)),
    rss: Math.max(...list.map((run) => run.rss)),
    errors: list.reduce((sum, run) => sum + run.errors, 0),
    firstError: list.find((run) => run.firstError !== undefined)?.firstError,
  });
  return { ruler: of(runs.ruler), target: of(runs.target) };
}

const rows = [];
let errors = 0;
/** One line of the table. `floor` fails a quick run; `goal` is only said. */
function row(id, work, figure, goal, met, floor, detail) {
  rows.push({ id, work, figure, goal, met, floor, detail });
  console.log(
    `${id.padEnd(4)} ${work.padEnd(58)} ${figure.padStart(12)}  goal ${goal}  ${met ? "met" : "NOT MET"}${floor ? "" : "  BELOW THE FLOOR"}`,
  );
}
const throughput = (id, work, { ruler, target }, goal, floor) => {
  const value = ratio(target.perSecond, ruler.perSecond);
  errors += target.errors;
  if (target.errors > 0) console.error(`     ${target.errors} errors, the first: ${target.firstError}`);
  const detail = `${Math.round(target.perSecond)} against ${Math.round(ruler.perSecond)} calls/s, ${target.cpuUs.toFixed(0)} against ${ruler.cpuUs.toFixed(0)} µs CPU a call, p99 ${target.p99.toFixed(2)} against ${ruler.p99.toFixed(2)} ms`;
  row(id, work, value.toFixed(2), `≥ ${goal.toFixed(2)}`, value >= goal, value >= floor, detail);
};
const latency = (id, work, value, goal, floor, detail) =>
  row(id, work, `${value.toFixed(2)} ×`, `≤ ${goal} ×`, value <= goal, value <= floor, detail);

const wanted = (id) => values.only === undefined || values.only.split(",").includes(id);
const plain = { prefix: "" };

async function httpWork() {
  const upstream = await httpUpstream();
  const ruler = await passThrough(upstream);
  const gateway = await cardea({ echo: { type: "http", url: upstream.url, ...plain } });
  for (const era of ["legacy", "modern"]) {
    if (wanted("P1")) {
      for (const sessions of [16, 64]) {
        const result = await against(ruler, gateway, { era, sessions });
        throughput("P1", `tools/call, HTTP upstream, ${sessions} sessions, ${era}`, result, 1, 0.55);
        const p99 = ratio(result.target.p99, result.ruler.p99);
        latency(
          "P5",
          `p99 at ${sessions} sessions, ${era}`,
          p99,
          sessions === 16 ? 1.5 : 1.2,
          3,
          "of the row above",
        );
      }
    }
    if (wanted("P4")) {
      const { ruler: a, target: b } = await against(ruler, gateway, { era, sessions: 1 });
      latency(
        "P4",
        `p50 with one session, ${era}`,
        ratio(b.p50, a.p50),
        1.1,
        1.6,
        `${b.p50.toFixed(3)} against ${a.p50.toFixed(3)} ms`,
      );
      latency(
        "P4",
        `p99 with one session, ${era}`,
        ratio(b.p99, a.p99),
        1.2,
        3,
        `${b.p99.toFixed(3)} against ${a.p99.toFixed(3)} ms`,
      );
    }
    if (wanted("P6")) {
      for (const [name, bytes] of [
        ["10 KiB", 10_240],
        ["1 MiB", 1_048_576],
      ]) {
        const job = { era, sessions: 16, work: "blob", tool: "blob", bytes };
        throughput(
          "P6",
          `answers of ${name}, 16 sessions, ${era}`,
          await against(ruler, gateway, job),
          1,
          0.6,
        );
      }
    }
  }
  await Promise.all([upstream, ruler, gateway].map((target) => target.stop()));
}

async function stdioWork() {
  const upstream = await httpUpstream();
  const ruler = await passThrough(upstream);
  const gateway = await cardea({ echo: { ...stdioServer(), ...plain } });
  for (const era of ["legacy", "modern"]) {
    const result = await against(ruler, gateway, { era, sessions: 16 });
    throughput("P3", `tools/call, stdio upstream, 16 sessions, ${era}`, result, 1.4, 0.8);
  }
  await Promise.all([upstream, ruler, gateway].map((target) => target.stop()));
}

async function listWork() {
  const whole = await httpUpstream({ tools: 1000 });
  const ruler = await passThrough(whole);
  const parts = await Promise.all(Array.from({ length: 10 }, () => httpUpstream({ tools: 97 })));
  const gateway = await cardea(
    Object.fromEntries(parts.map(({ url }, i) => [`s${i}`, { type: "http", url }])),
  );
  for (const era of ["legacy", "modern"]) {
    const { ruler: a, target: b } = await against(ruler, gateway, { era, sessions: 4, work: "list" });
    errors += b.errors;
    const detail = `p50 ${b.p50.toFixed(2)} against ${a.p50.toFixed(2)} ms`;
    row(
      "P7",
      `tools/list of 1000 tools from 10 upstreams, ${era}`,
      `${(b.cpuUs / 1000).toFixed(2)} ms CPU`,
      "≤ 0.20 ms",
      b.cpuUs <= 200,
      b.cpuUs <= 800,
      detail,
    );
    latency("P7", `p50 of that list, ${era}`, ratio(b.p50, a.p50), 0.6, 2, detail);
  }
  await Promise.all([whole, ruler, gateway, ...parts].map((target) => target.stop()));
}

async function memoryWork() {
  const parts = await Promise.all(Array.from({ length: 10 }, () => httpUpstream({ tools: 20 })));
  const servers = Object.fromEntries(parts.map(({ url }, i) => [`s${i}`, { type: "http", url }]));
  const gateway = await cardea(servers);
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const { rssMiB } = await import("./processes.mjs");
  const memory = (work, value, goal, floor) =>
    row("P9", work, `${value.toFixed(0)} MiB`, `≤ ${goal} MiB`, value <= goal, value <= floor, "resident");
  memory("idle with 10 upstreams", rssMiB(gateway.pid), 80, 110);
  const job = { seconds, sessions: 64, tool: "s0__echo" };
  const under = await load(gateway.url, gateway.pid, job);
  memory("64 sessions under load", under.rss, 130, 200);
  const many = await load(gateway.url, gateway.pid, { ...job, sessions: 500 });
  memory("500 sessions", many.rss, 140, 220);
  errors += under.errors + many.errors;
  await Promise.all([gateway, ...parts].map((target) => target.stop()));
}

build();
try {
  if (["P1", "P4", "P6"].some(wanted)) await httpWork();
  if (wanted("P3")) await stdioWork();
  if (wanted("P7")) await listWork();
  if (wanted("P9")) await memoryWork();
} finally {
  await stopAll();
}
row(
  "P11",
  "wrong or missing answers in every run above",
  String(errors),
  "0",
  errors === 0,
  errors === 0,
  "",
);

const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
const machine = `${cpus().length} × ${cpus()[0].model.trim()}, Linux ${release()}, Node ${process.version}, ${pinned}`;
if (!values.quick && values.only === undefined) {
  const lines = rows.map(
    (r) => `| ${r.id} | ${r.work} | ${r.figure} | ${r.goal} | ${r.met ? "yes" : "**no**"} | ${r.detail} |`,
  );
  writeFileSync(
    fileURLToPath(new URL("results.md", import.meta.url)),
    `# Results\n\n\`npm run bench\` at commit ${commit}, ${new Date().toISOString().slice(0, 10)}; ${machine}; medians of ${rounds} rounds of ${seconds} s.\nRatios are to the pass-through of the same run.\n\n| | work | figure | goal | met | detail |\n|---|---|---|---|---|---|\n${lines.join("\n")}\n`,
  );
}
if (values.quick && rows.some((r) => !r.floor)) process.exitCode = 1;
