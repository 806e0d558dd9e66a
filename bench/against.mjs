/**
 * `npm run bench -- --against REV [--sets N] [--only open,guarded]`: this build against that of another revision, in one run and in turns: two
 * processes of each side by side, in several sets of new processes. The processor time of a call decides, since others change it least;
 * verdict.mjs refuses to call a difference one that a build has from itself. Prints one page; `--write` puts it into results.md.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildVersion } from "../cluster/support/version.mjs";
import { median } from "./measure.mjs";
import { printed, start, stop } from "./processes.mjs";
import { circumstances, conditions, writeSection } from "./results.mjs";
import { cardea, httpUpstream, stdioServer } from "./targets.mjs";
import { verdict } from "./verdict.mjs";
import { GUARDED, KEY } from "./work/calls.mjs";
import { changingLists } from "./work/lists.mjs";

const prefix = "";

/** What is compared: `config` of the gateway for one process (`name` is of its files), and how it is called. */
const WORK = {
  open: { what: "HTTP upstream, 16 sessions, legacy", job: { era: "legacy", sessions: 16 } },
  modern: { what: "HTTP upstream, 16 sessions, modern", job: { era: "modern", sessions: 16 } },
  single: { what: "HTTP upstream, 1 session, modern", job: { era: "modern", sessions: 1 } },
  guarded: {
    what: "keys, 20 rules, 3 limits, 16 sessions, modern",
    job: { era: "modern", sessions: 16 },
    key: KEY,
    config: () => GUARDED,
  },
  audit: {
    what: "audit log (`required`), 16 sessions, modern",
    job: { era: "modern", sessions: 16 },
    config: ({ folder, name }) => ({ audit: { file: join(folder, `${name}.jsonl`), required: true } }),
  },
  traces: {
    what: "traces of every call, 16 sessions, modern",
    job: { era: "modern", sessions: 16 },
    config: ({ collector }) => ({ telemetry: { otlp: { endpoint: collector, sampling: 1 } } }),
  },
  stdio: { what: "stdio upstream, 16 sessions, modern", job: { era: "modern", sessions: 16 }, isStdio: true },
  medium: {
    what: "answers of 10 KiB, 16 sessions, modern",
    job: { era: "modern", sessions: 16, work: "blob", tool: "blob", bytes: 10_240 },
  },
  large: {
    what: "answers of 1 MiB, 16 sessions, modern",
    job: { era: "modern", sessions: 16, work: "blob", tool: "blob", bytes: 1_048_576 },
  },
  questions: {
    what: "a question of a legacy server to a modern host, 1 session",
    job: { era: "modern", sessions: 1, work: "ask", tool: "ask" },
    protocol: "legacy",
  },
  lists: { what: "all lists of 10 servers of 100 tools change (a wave, not a call)", waves: 12 },
};

/**
 * @param revision a commit, branch or tag of this repository
 * @param options `measure`: as run.mjs makes it; `sets`: how many sets of processes; `only`: names of WORK; `write`: into results.md
 */
export async function against(revision, { measure, sets, only = Object.keys(WORK), write = false }) {
  for (const name of only)
    if (WORK[name] === undefined)
      throw new Error(`no work ${name}; there are ${Object.keys(WORK).join(", ")}`);
  const other = buildVersion(revision);
  const folder = mkdtempSync(join(tmpdir(), "cardea-bench-against-"));
  try {
    const upstream = await httpUpstream();
    const sink = start(1, ["servers/collector.mjs"]);
    const [port] = await printed(sink, "stdout", /^\d+$/);
    const place = { folder, upstream, collector: `http://127.0.0.1:${port}` };
    const found = Object.fromEntries(only.map((name) => [name, []]));
    for (let set = 0; set < sets; set += 1)
      for (const name of only)
        found[name].push(await oneSet(WORK[name], { ...place, set, measure, main: other.main }));
    await stop(sink);
    await upstream.stop();
    const table = asTable(found);
    const state = conditions(measure.notes);
    console.log(`${table}\n${state}`);
    const head = `${circumstances(`npm run bench -- --against ${revision}`)}; two processes of each build in ${sets} sets. ${state}`;
    if (write) writeSection("bench:against", `Against ${revision}`, `${head}\n\n${table}`);
  } finally {
    await other.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Two processes of each build at the same work, round by round: the medians of each. */
async function oneSet(
  { job, key, config, waves, protocol, isStdio = false },
  { folder, upstream, collector, set, measure, main },
) {
  if (waves !== undefined) return wavesOf(waves, main);
  const server = isStdio ? stdioServer() : { type: "http", url: upstream.url, ...(protocol && { protocol }) };
  const startOne = async (name, options) => {
    const rest = config?.({ folder, collector, name: `${name}-${set}` }) ?? {};
    const target = await cardea({ echo: { ...server, prefix } }, rest, options);
    return { ...target, ...(key !== undefined && { key }) };
  };
  const targets = {
    before: await startOne("before", { main }),
    now: await startOne("now", {}),
    "before again": await startOne("before-again", { main }),
    "now again": await startOne("now-again", {}),
  };
  const seen = await measure.interleave(targets, { work: "echo", tool: "echo", ...job });
  for (const target of Object.values(targets)) await target.stop();
  const pair = (build, figure) => [seen[build][figure], seen[`${build} again`][figure]];
  const of = (figure) => ({ before: pair("before", figure), now: pair("now", figure) });
  return { cpuUs: of("cpuUs"), p50: of("p50"), perSecond: of("perSecond"), rss: of("rss") };
}

/** Each wave makes all lists of each gateway change, one gateway after the other. */
async function wavesOf(count, main) {
  const targets = {};
  for (const [name, options] of [
    ["before", { main }],
    ["now", {}],
    ["before again", { main }],
    ["now again", {}],
  ])
    targets[name] = await changingLists(options);
  const found = Object.fromEntries(Object.keys(targets).map((name) => [name, []]));
  for (let wave = 0; wave < count; wave += 1)
    for (const [name, target] of Object.entries(targets)) found[name].push((await target.wave()) * 1000);
  for (const target of Object.values(targets)) await target.stop();
  const pair = (build) => [median(found[build]), median(found[`${build} again`])];
  const cpuUs = { before: pair("before"), now: pair("now") };
  return { cpuUs };
}

const percent = (ratio) => `${ratio > 0 ? "+" : ""}${(ratio * 100).toFixed(1)} %`;

function asTable(found) {
  const lines = [
    "| work | processor µs a call, before → now | change | noise | verdict | p50 | calls/s |",
    "|---|---|---|---|---|---|---|",
  ];
  for (const [name, sets] of Object.entries(found)) {
    const all = (build) => sets.flatMap(({ cpuUs }) => cpuUs[build]);
    const middle = (build) => (all(build).reduce((sum, us) => sum + us, 0) / all(build).length).toFixed(1);
    const { change, noise, word } = verdict(sets.map(({ cpuUs }) => cpuUs));
    const [p50, rate] = ["p50", "perSecond"].map((figure) =>
      sets[0][figure] === undefined ? "" : percent(verdict(sets.map((set) => set[figure])).change),
    );
    lines.push(
      `| ${WORK[name].what} | ${middle("before")} → ${middle("now")} | ${percent(change)} | ±${(noise * 100).toFixed(1)} % | ${word} | ${p50} | ${rate} |`,
    );
  }
  return lines.join("\n");
}
