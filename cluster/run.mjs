/**
 * `npm run cluster [-- C1,C2] [--quick]`: every case of several replicas, each a program of its own, against the built
 * gateway with Redis, Sentinel and HAProxy. A whole run writes the table `docs/cluster-faults.md`.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { circumstances, judge, runScript, scriptsIn, tableOf } from "../faults/support/matrix.mjs";
import { build } from "../scripts/build.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const { values, positionals } = parseArgs({
  options: { quick: { type: "boolean", default: false }, built: { type: "boolean", default: false } },
  allowPositionals: true,
});
const wanted = new Set(positionals.flatMap((word) => word.toLowerCase().split(",")));
const cases = scriptsIn(here, /^c\d\d\b.*\.mjs$/).filter(({ id }) => wanted.size === 0 || wanted.has(id));
if (cases.length === 0) {
  console.error(`no such cases: ${[...wanted].join(", ")}`);
  process.exit(2);
}
if (!values.built) build();
const begun = performance.now();
const results = [];
for (const one of cases) {
  const result = await runScript(here, one, values.quick ? ["--quick"] : []);
  results.push(result);
  console.log(`${result.id.padEnd(4)} ${result.seconds.toFixed(0)} s\n`);
}
const { sentence, failed } = judge(results);
const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
console.log(`${sentence} (${minutes} min)`);
for (const { id, what, figure, aim } of failed) console.log(`  ${id} ${what}: ${figure} (target: ${aim})`);
if (wanted.size === 0 && !values.quick) writeFileSync(`${here}../docs/cluster-faults.md`, page());
process.exitCode = failed.length === 0 ? 0 : 1;

function page() {
  const { commit, machine, date } = circumstances(["src", "cluster", "package-lock.json"]);
  const lines = results.flatMap(tableOf);
  const notes = results.flatMap(({ id, notes: own }) => own.map((note) => `- ${id}: ${note}`));
  return `# Several replicas: faults, results and targets

\`npm run cluster\` at commit ${commit}, ${date}, in ${minutes} min; ${machine}.

Each case is a script in \`cluster/\` that starts replicas of the built program with a real Redis behind and HAProxy (round robin,
no stickiness) in front. Hosts of both eras call, answer questions, hear progress and follow a page; none opens a new session when
its own is unknown. The server keeps a ledger of every run of a tool by an argument that no two calls share.

**${sentence}**

| case | fault, and what is measured | target | figure | pass |
|---|---|---|---|---|
${lines.map((line) => `| ${line} |`).join("\n")}

## Notes

${notes.join("\n")}
`;
}
