/**
 * `npm run bench:economy`: what 25 servers of the npm registry cost behind Cardea in processes, memory and time: all started
 * at once, and on demand. Installs them once.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "../scripts/build.mjs";
import { root } from "../scripts/install.mjs";
import { coldStart, startHub, startProxy } from "./economy/cold.mjs";
import { configWith, eager, firstStart, warmStart } from "./economy/phases.mjs";
import { installServers, PEERS } from "./economy/servers.mjs";
import { asTable, inOneLine, within } from "./goals.mjs";
import { median } from "./measure.mjs";
import { stopAll } from "./processes.mjs";
import { circumstances, writeSection } from "./results.mjs";

const { values } = parseArgs({
  options: {
    /** Leaves `idleTimeout` at its 10 minutes instead of 20 s. */
    long: { type: "boolean", default: false },
    /** The `main.js` of an earlier build, which measures the servers that are all started at once. */
    before: { type: "string" },
    /** How many cold starts of Cardea. */
    runs: { type: "string", default: "10" },
  },
});
const runs = Number(values.runs);
const idle = values.long ? { text: "10m", ms: 600_000 } : { text: "20s", ms: 20_000 };
const program = `${root}dist/main.js`;
const PEER_RUNS = 3;

const usage = [
  "| | moment | processes | resident MiB | PSS MiB | ms | not listed |",
  "|---|---|---|---|---|---|---|",
];
const starts = [
  "| | starts | first `tools/list` ms, p50 (least–most) | tools in it | all tools after ms, p50 | processes |",
  "|---|---|---|---|---|---|",
];
const goals = [];

function say(table, cells) {
  table.push(`| ${cells.join(" | ")} |`);
  console.log(table.at(-1));
}

function goal(work, figure, detail) {
  goals.push(within("E", work, [figure], detail));
  console.log(inOneLine(goals.at(-1)));
}

/** Prints and keeps the rows of a phase. Resolves to the rows, and to what the phase returns. */
async function measured(phase, generator) {
  const rows = [];
  for (;;) {
    const { value, done } = await generator.next();
    if (done) return { rows, seen: value };
    const { moment, processes, rss, pss, ms, missing = 0, firstMissing } = value;
    const time = ms === undefined ? "" : ms.toFixed(0);
    const lost = missing === 0 ? "" : `${missing}, as ${firstMissing}`;
    say(usage, [phase, moment, processes, rss.toFixed(0), pss.toFixed(0), time, lost]);
    rows.push(value);
  }
}

async function life(folderFor) {
  const before = folderFor("eager");
  const settings = values.before === undefined ? { start: "eager" } : {};
  const all = { program: values.before ?? program, folder: before, config: configWith(before, settings) };
  const { seen } = await measured("`start: eager`", eager(all));
  const folder = folderFor("demand");
  const place = { program, folder, config: configWith(folder, { idleTimeout: idle.text }) };
  await measured("first start", firstStart(place, seen));
  const { rows } = await measured("known lists", warmStart(place, seen, idle.ms));
  const [plain, asked, called, , left] = rows;
  const whole = plain.missing + asked.missing;
  goal("entries that two hosts do not see after a start with known lists", {
    value: whole,
    goal: 0,
    digits: 0,
  });
  goal("child processes after both have listed", { value: asked.processes, goal: 0, digits: 0 });
  goal("child processes after calls to three servers", { value: called.processes, goal: 3, digits: 0 });
  goal(`child processes ${(left.ms / 1000).toFixed(0)} s after the hosts left`, {
    value: left.processes,
    goal: 0,
    digits: 0,
  });
  return place;
}

async function cold(place) {
  const some = [];
  for (let run = 0; run < runs; run += 1) some.push(await coldStart(place, run % 2 === 1));
  const of = (figure) => some.map((each) => each[figure]);
  const p50 = median(of("listMs"));
  say(starts, coldCells("Cardea", runs, of("listMs"), some[0].tools, p50, Math.max(...of("processes"))));
  goal(
    "from the spawn to the first answered tools/list, p50",
    { value: p50, goal: 350, unit: " ms", digits: 0 },
    `${runs} starts; ready line p50 ${median(of("readyMs")).toFixed(0)} ms`,
  );
  goal(
    "from the ready line until a host has all lists, p50",
    { value: median(of("allMs")), goal: 300, unit: " ms", digits: 0 },
    `most ${Math.max(...of("allMs")).toFixed(0)} ms`,
  );
  for (const [name, servers, startPeer] of [
    ["mcp-hub", "", startHub],
    ["mcp-proxy", ", one server", startProxy],
  ]) {
    const label = `${name} ${PEERS[name]}${servers}`;
    try {
      const peer = [];
      for (let run = 0; run < PEER_RUNS; run += 1) peer.push(await startPeer(place.folder));
      const { wholeTools, tools, processes } = peer[0];
      const lists = peer.map(({ listMs }) => listMs);
      const wholeMs = median(peer.map((each) => each.wholeMs));
      say(starts, coldCells(label, PEER_RUNS, lists, `${tools} of ${wholeTools}`, wholeMs, processes));
    } catch (error) {
      say(starts, [label, "does not run here", error.message.split("\n")[0].slice(0, 200), "", "", ""]);
    }
  }
}

function coldCells(name, count, lists, tools, wholeMs, processes) {
  const range = `${median(lists).toFixed(0)} (${Math.min(...lists).toFixed(0)}–${Math.max(...lists).toFixed(0)})`;
  return [name, count, range, tools, wholeMs.toFixed(0), processes];
}

const folders = [];
function folderFor(name) {
  folders.push(mkdtempSync(join(tmpdir(), `cardea-economy-${name}-`)));
  return folders.at(-1);
}

build();
installServers();
try {
  const place = await life(folderFor);
  if (runs > 0) await cold(place);
} finally {
  await stopAll();
  for (const folder of folders)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
const LEGEND = `ms: from the ready line; of the second host from its connection; of the last row from the moment that both hosts have
left. mcp-hub starts all servers at each start, and its first list is empty until they are there. mcp-proxy takes one server.`;
const text = [
  `${circumstances("npm run bench:economy", "not pinned")}; \`idleTimeout\` ${idle.text}.`,
  LEGEND,
  usage.join("\n"),
  starts.join("\n"),
  asTable(goals),
];
writeSection("bench:economy", "Servers on demand", text.join("\n\n"));
