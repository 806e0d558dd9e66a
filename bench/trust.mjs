/**
 * `node bench/trust.mjs`: what trust costs: a call whose server is observed, and a lock with 10,000 tools. Exits non-zero above 1 µs a call,
 * or 2 s to compare. `bench/scan.mjs` has the cost of a scan.
 */
import { build } from "../scripts/build.mjs";

if (!process.argv.includes("--built")) build({ installed: true });
const { refuseHeld } = await import("../build/routing/held-targets.js");
const { admissionOf } = await import("../build/features/trust/admission.js");
const { ServerApprovals } = await import("../build/features/trust/server-approvals.js");
const { digestDefinitions } = await import("../build/features/trust/lock/definition.js");
const { differencesOf } = await import("../build/features/trust/lock/differences.js");
const { lockedLists, readLock, writeLock } = await import("../build/features/trust/lock/lock.js");

/** Processor time (ms). */
function cpu(run) {
  const before = process.cpuUsage();
  const value = run();
  const { user, system } = process.cpuUsage(before);
  return { ms: (user + system) / 1000, value };
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

const ROUNDS = 15;
const CALLS = 1_000_000;
const names = Array.from({ length: 20 }, (_, at) => `server-${at}`);
const admission = (name) =>
  admissionOf({ pin: "observe", approvals: new ServerApprovals(name), onSeen: () => {} });
const observed = new Map(names.map((name) => [name, admission(name)]));
const calls = names.map((upstream) => ({
  method: "tools/call",
  route: { upstream, kind: "tools", target: "search" },
}));

/** Microseconds of a call through the layer, with these admissions. */
function layerCost(admissions) {
  let called = 0;
  const layer = refuseHeld(admissions)(() => {
    called += 1;
  });
  const { ms } = cpu(() => {
    for (let at = 0; at < CALLS; at += 1) layer(calls[at % calls.length]);
  });
  if (called !== CALLS) throw new Error("a call was refused");
  return (ms * 1000) / CALLS;
}

const costs = Array.from({ length: ROUNDS }, () => layerCost(observed) - layerCost(new Map()));
const perCall = median(costs);
console.log(`a call in \`observe\`: ${(perCall * 1000).toFixed(0)} ns more than without trust`);
if (perCall > 1) process.exitCode = 1;

const TOOLS = 10_000;
const text = "Returns the rows of a table that match a filter, in pages. ";
const property = { type: "string", description: text };
const toolsOf = (note) =>
  Array.from({ length: TOOLS }, (_, at) => ({
    name: `list_rows_${at}`,
    description: `${text}${at === 4711 ? note : ""}`,
    inputSchema: { type: "object", properties: { a: property, b: property, c: property } },
  }));
const serverOf = (tools) => ({
  ...{ start: { package: "rows", version: "1.0.0" }, name: "rows", isMet: true },
  lists: lockedLists({ tools, prompts: [], resources: [], resourceTemplates: [] }),
});
const written = cpu(() => writeLock({ servers: new Map([["rows", serverOf(toolsOf(""))]]) }));
const mib = (written.value.length / 2 ** 20).toFixed(1);
console.log(`a lock with 10,000 tools: ${mib} MiB, written in ${written.ms.toFixed(0)} ms`);
const read = cpu(() => readLock(written.value));
const approved = read.value.servers.get("rows");

/** All digests, made in steps; and the longest step. */
function digest(tools) {
  let longest = 0;
  let count = 0;
  const { ms } = cpu(() => {
    for (const steps = digestDefinitions("tools", tools); ; ) {
      const step = cpu(() => steps.next());
      longest = Math.max(longest, step.ms);
      count += 1;
      if (step.value.done) break;
    }
  });
  return { ms, longest, count };
}

const ofLock = digest(approved.lists.tools);
const used = cpu(() => new ServerApprovals("rows").use(approved, undefined));
const stepsOf = ({ ms, longest, count }) =>
  `${ms.toFixed(0)} ms in ${count} steps, the longest ${longest.toFixed(1)} ms`;
console.log(
  `parsed in ${read.ms.toFixed(0)} ms; digests ${stepsOf(ofLock)}; taken over in ${used.ms.toFixed(0)} ms`,
);

const now = toolsOf("It has changed.");
const digested = digest(now);
const current = { ...serverOf([]), lists: { ...serverOf([]).lists, tools: now } };
const compared = cpu(() => differencesOf(approved, current));
console.log(
  `the server's list: digests ${stepsOf(digested)}; compared in ${compared.ms.toFixed(0)} ms, ${compared.value.length} difference`,
);
if (compared.value.length !== 1 || read.ms + ofLock.ms + used.ms + digested.ms + compared.ms > 2_000)
  process.exitCode = 1;
