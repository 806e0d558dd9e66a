/**
 * `npm run faults [-- F1,F3] [--quick] [--long]`: every row of the fault matrix, each a program of its own, against the built
 * gateway. A whole run writes the table `docs/faults.md`; it takes about 15 minutes, with `--quick` 4; with
 * `--long` storms continue for 15 minutes and siege for 5.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "../scripts/build.mjs";
import { circumstances, judge, runScript, scriptsIn, tableOf } from "./support/matrix.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const { values, positionals } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    built: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const wanted = new Set(positionals.flatMap((word) => word.toLowerCase().split(",")));

/**
 * Rows that mostly wait, or that measure no short times: they run in parallel when the rest is done. The longest first,
 * so that no lane ends with it.
 */
const TOGETHER = ["f15", "f27", "f02", "f22", "f03", "f18", "f14"];
const LANES = 4;

const rows = scriptsIn(here, /^(f\d\d|l\d\d|leak)\b.*\.mjs$/).filter(
  ({ id }) => wanted.size === 0 || wanted.has(id),
);
if (rows.length === 0) {
  console.error(`no such rows: ${[...wanted].join(", ")}`);
  process.exit(2);
}

const flags = [values.quick ? "--quick" : "", values.long ? "--long" : ""].filter(Boolean);

async function lane(queue, results) {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const result = await runScript(here, next, flags);
    results.push(result);
    console.log(`${result.id.padEnd(4)} ${result.seconds.toFixed(0)} s\n`);
  }
}

if (!values.built) build();
const begun = performance.now();
const results = [];
const apart = rows.filter(({ key }) => !TOGETHER.includes(key));
const together = TOGETHER.flatMap((wantedKey) => rows.filter(({ key }) => key === wantedKey));
await lane(apart, results);
await Promise.all(Array.from({ length: LANES }, () => lane(together, results)));

results.sort((a, b) => a.file.localeCompare(b.file));
const { sentence, failed } = judge(results);
const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
console.log(`${sentence} (${minutes} min)`);
for (const { id, what, figure, aim } of failed) console.log(`  ${id} ${what}: ${figure} (target: ${aim})`);
if (wanted.size === 0 && !values.quick) writeFileSync(`${here}../docs/faults.md`, page());
process.exitCode = failed.length === 0 ? 0 : 1;

function page() {
  const { commit, machine, date } = circumstances(["src", "faults", "package-lock.json"]);
  const lines = results.flatMap(tableOf);
  const notes = results.flatMap(({ id, notes: own }) => own.map((note) => `- ${id}: ${note}`));
  return `# Fault injection and load tests: results and targets

\`npm run faults\` at commit ${commit}, ${date}, in ${minutes} min; ${machine}.

Each row is a script in \`faults/\` that starts the built program with hostile servers, hosts and connections;
\`npm run faults -- F1,L6\` runs some of them. *Base* is the same run without the fault. A row fails when a figure misses its
target; where the test itself prevents it, the last column has the reason. A time that missed its target while other processes
kept the machine busy, or on a slow machine, is not evaluated. Faults of several replicas are in \`cluster/\` (\`npm run cluster\`).

**${sentence}**

| row | fault or load, and what is measured | target | figure | pass |
|---|---|---|---|---|
${lines.map((line) => `| ${line} |`).join("\n")}

## Notes

${notes.join("\n")}
`;
}
