/**
 * `node bench/policy.mjs`: how long a decision takes with 1,000 rules, 20 of them CEL, all of which match the tool
 * and none of which decides, and what a reading of the metrics costs. Exits non-zero above 0.1 ms at p99.
 */
import { build } from "../scripts/build.mjs";

build();
const { createPolicy } = await import("../build/features/policy/policy.js");
const { Metrics } = await import("../build/telemetry/metrics.js");
const { COUNTERS, countedIn } = await import("../build/features/policy/metrics.js");
const silent = { error() {}, warn() {}, info() {}, debug() {} };

const rules = Array.from({ length: 1000 }, (_, at) => ({
  name: `rule-${at}`,
  on: "call",
  effect: "deny",
  ...(at % 50 === 0
    ? { tools: ["db__*"], when: `args.env == 'no-${at}' && args.limit > ${at} && principal.id != 'root'` }
    : { tools: [`server-${at}__*`, `*__tool_${at}_*`] }),
}));
const all = new Metrics({ version: "bench", process: false });
const counters = new Map(COUNTERS.map((counter) => [counter.name, all.featureCounter(counter)]));
const metrics = countedIn({
  count: ({ name }, labels) => counters.get(name)(labels),
  enterQueue: (server) => all.enterQueue(server),
});
const started = performance.now();
const policy = createPolicy({ policy: { default: "allow", rules } }, { metrics, logger: silent });
const compiled = performance.now() - started;

const route = {
  upstream: "db",
  target: "query",
  exposed: "db__query",
  kind: "tools",
  item: { name: "query" },
};
const call = {
  id: 1,
  method: "tools/call",
  params: { name: "db__query", arguments: { env: "test", limit: 5, sql: "select 1" } },
  client: {
    principal: { id: "ann", groups: ["dev"], claims: {} },
    affinity: "ann",
    session: false,
    scope: "",
    capabilities: {},
  },
  route,
  signal: new AbortController().signal,
  notify() {},
};
const reply = { kind: "error", error: { code: 0, message: "" } };
const handle = policy.access(async () => reply);

/** Microseconds per call, sorted. */
async function measure(count, run) {
  const times = [];
  for (let at = 0; at < count; at += 1) {
    const start = performance.now();
    await run(at);
    times.push((performance.now() - start) * 1000);
  }
  return times.sort((a, b) => a - b);
}

const first = await measure(1, () => handle(call));
await measure(20_000, () => handle(call));
const times = await measure(50_000, () => handle(call));
const at = (share) => times[Math.floor(times.length * share)];
const lists = await measure(50, () => handle({ ...call, route: { ...route } }));

const us = (value) => `${value.toFixed(1)} us`;
console.log(`1,000 rules compiled in ${compiled.toFixed(0)} ms (the engine's loading included)`);
console.log(`a decision: p50 ${us(at(0.5))}, p99 ${us(at(0.99))}, p99.9 ${us(at(0.999))}`);
console.log(`the first one for a tool: ${us(first[0])} cold, ${us(lists[25])} warm`);
if (at(0.99) > 100) process.exitCode = 1;
