/**
 * `node bench/scan.mjs`: what the scan of definitions costs, in CPU time: 1,000 definitions of 1 KiB, and evil texts of 1 MiB, which
 * must take time linear in their length. Exits non-zero above 250 ms, or 4 s.
 */
import { build } from "../scripts/build.mjs";

if (!process.argv.includes("--built")) build({ installed: true });
const { findingsIn } = await import("../build/features/scan/scan.js");

/** CPU time (ms) of a scan, and of its longest step. */
function cost(definitions) {
  const before = process.cpuUsage();
  let longest = 0;
  for (const steps = findingsIn(definitions); ; ) {
    const start = performance.now();
    const { done } = steps.next();
    longest = Math.max(longest, performance.now() - start);
    if (done) break;
  }
  const { user, system } = process.cpuUsage(before);
  return { ms: (user + system) / 1000, longest };
}

const WORDS =
  "Returns the rows of a table that match a filter, in pages. The filter must be an expression over columns; call list_columns for their names. ";
const definition = (name, description) => ({ server: "s", kind: "tools", name, item: { name, description } });
const ordinary = Array.from({ length: 1_000 }, (_, at) => {
  const properties = Object.fromEntries(
    Array.from({ length: 4 }, (__, index) => [`column_${index}`, { type: "string", description: WORDS }]),
  );
  const item = {
    name: `list_rows_${at}`,
    description: WORDS.repeat(3),
    inputSchema: { type: "object", properties },
  };
  return { server: `server-${at % 20}`, kind: "tools", name: item.name, item };
});
const MIB = 1_048_576;
const evil = [
  "ignore previous ",
  "not tell ",
  " ",
  "\n",
  "<!--",
  "A",
  "curl ",
  "send a@",
  "~/.ssh/",
  "a_b ",
  "x\uFE01",
  "[system ",
  "(",
  "'",
  "\u{E0041}",
  "mcp.json/",
  "once a tool is ",
  "change it after ",
  "tool it not be called by ",
  "users do not need ",
];

for (let round = 0; round < 3; round += 1) cost(ordinary);
const rounds = Array.from({ length: 9 }, () => cost(ordinary)).sort((a, b) => a.ms - b.ms);
const { ms, longest } = rounds[4];
console.log(`1,000 definitions of 1 KiB: ${ms.toFixed(0)} ms, the longest step ${longest.toFixed(1)} ms`);
if (ms > 250) process.exitCode = 1;
for (const text of evil) {
  const { ms: own } = cost([definition("t", text.repeat(MIB / text.length))]);
  console.log(`1 MiB of ${JSON.stringify(text)}: ${own.toFixed(0)} ms`);
  if (own > 4_000) process.exitCode = 1;
}
