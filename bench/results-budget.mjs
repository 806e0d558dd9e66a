/**
 * `node bench/results-budget.mjs`: what a budget of results (`results.maxTokens`) costs: a call whose result is below it, and a result of
 * 100 kB and 1 MB above it, by what it is. Processor time of the layer, the best of many rounds. Exits non-zero above 2 us below the budget, and above 1 ms for 100 kB above it. `--only NAME`: one kind, for `--cpu-prof`.
 */
import { build } from "../scripts/build.mjs";

if (!process.argv.includes("--built")) build();
const { Budgets } = await import("../build/features/results/budgets.js");
const { KeptResults } = await import("../build/features/results/kept-results.js");
const { keepLargeResults } = await import("../build/features/results/keep-large-results.js");
const { RESULT_TEXT } = await import("../build/wire/envelope.js");
const { parseJson } = await import("../build/wire/json-text.js");
const { Payload } = await import("../build/wire/payload.js");

const BELOW_US = 2;
const ABOVE_MS = 1;
const ROUNDS = 20;
const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1] : undefined;

const budgets = new Budgets({
  servers: [{ name: "big", features: {} }],
  features: { results: { maxTokens: 5_000, keepMs: 900_000, maxBytes: 67_108_864 } },
});
const client = { principal: { id: "ann", source: "keys" }, affinity: "one", session: true, capabilities: {} };
const call = {
  id: "1",
  method: "tools/call",
  params: { name: "big__tool" },
  client,
  signal: new AbortController().signal,
  route: { upstream: "big", target: "tool", exposed: "big__tool", kind: "tools" },
};

/** A result as the gateway has received it: its text, and its object. */
const received = (text) => Payload.ofResponse({ result: parseJson(text.toString()), [RESULT_TEXT]: text });

/** Milliseconds of processor time for one result, the best of ROUNDS: other processes do not count, and rounds with a collection do not. */
async function cost(text, batch) {
  const kept = new KeptResults(67_108_864);
  const logger = { error: (_, message) => console.error(message) };
  let payload;
  const next = async () => ({ kind: "result", result: payload });
  const layer = keepLargeResults({ budgets, kept, logger, onSaved() {} })(next);
  const best = [next, layer].map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [at, run] of [next, layer].entries()) {
      const payloads = Array.from({ length: batch }, (_, index) => received(text(`${round} ${index}`)));
      const before = process.cpuUsage();
      for (payload of payloads) await run(call);
      const { user, system } = process.cpuUsage(before);
      best[at] = Math.min(best[at], (user + system) / 1_000 / batch);
    }
  }
  kept.close();
  return best[1] - best[0];
}

const row = (id) => ({
  id,
  name: `person ${id}`,
  city: ["Oslo", "Lima", "Pune"][id % 3],
  price: (id % 1_000) / 8,
  tags: ["a", "b"],
});
const rows = (size) => Array.from({ length: Math.ceil(size / 78) }, (_, id) => row(id));
const repeated = (size, line) => {
  const lines = [];
  for (let at = 0, length = 0; length < size; at += 1) length += lines[lines.push(line(at)) - 1].length + 1;
  return lines.join("\n");
};
const content = (text) => ({ content: [{ type: "text", text }] });
const KINDS = {
  text: (size) => content(repeated(size, (at) => `line ${at}: the quick brown fox jumps over the lazy dog`)),
  log: (size) =>
    content(
      repeated(
        size,
        (at) => `2026-11-28T10:00:0${at % 10}Z ${at % 50 ? "INFO" : "ERROR"} request ${at} done`,
      ),
    ),
  JSON: (size) => content(JSON.stringify({ total: size, rows: rows(size) })),
  structure: (size) => ({
    ...content(JSON.stringify({ rows: rows(size / 2) })),
    structuredContent: { rows: rows(size / 2) },
  }),
  "structure only": (size) => ({ content: [], structuredContent: { rows: rows(size) } }),
  HTML: (size) =>
    content(
      `<!DOCTYPE html><html><head><style>p{color:red}</style></head><body>${repeated(size, (at) => `<div class="row"><a href="/item/${at}">Item &amp; ${at}</a> <span>costs ${at} euros</span></div>`)}</body></html>`,
    ),
  records: (size) => content(JSON.stringify(rows(size))),
  CSV: (size) => content(repeated(size, (at) => `${at},person ${at},Oslo,${at / 8}`)),
};

let isOver = false;
if (only === undefined) {
  const small = JSON.stringify(content(repeated(2_000, (at) => `line ${at}`)));
  const us = 1_000 * (await cost(() => small, 1_000));
  console.log(`below the budget: ${us.toFixed(2)} us`);
  isOver = us > BELOW_US;
}
console.log("above it, ms for 100 kB | of 100 kB | of 1 MB");
for (const [name, make] of Object.entries(KINDS)) {
  if (only !== undefined && only !== name) continue;
  const costs = [];
  for (const size of [100_000, 1_000_000]) {
    const ms = await cost((round) => Buffer.from(JSON.stringify({ ...make(size), _meta: { round } })), 1);
    costs.push((ms * 100_000) / JSON.stringify(make(size)).length);
  }
  if (costs.some((ms) => ms > ABOVE_MS)) isOver = true;
  console.log(`${name} | ${costs.map((ms) => ms.toFixed(2)).join(" | ")}`);
}
if (isOver) process.exitCode = 1;
