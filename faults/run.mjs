/**
 * `npm run faults [-- F1,F3] [--quick] [--long]`: every row of the fault matrix, each a program of its own, against the built
 * gateway. A whole run writes the table `docs/faults.md`; it takes about 15 minutes, with `--quick` 4; with
 * `--long` storms go on for 15 minutes and siege for 5.
 */
import { execFileSync, fork } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "../scripts/build.mjs";

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
 * Rows that mostly wait, or that judge no short times: they run beside each other when the rest is done. The longest
 * first, so that no lane is left with it.
 */
const TOGETHER = ["f15", "leak", "f27", "f02", "f22", "f03", "f18", "f14"];
const LANES = 4;

const rows = readdirSync(here)
  .filter((name) => /^(f\d\d|l\d\d|leak)\b.*\.mjs$/.test(name))
  .map((name) => {
    const [key] = /^[a-z]+\d*/.exec(name);
    return { file: name, key, id: key.replace(/^([fl])0?(\d+)$/, (_, letter, number) => letter + number) };
  })
  .filter(({ id }) => wanted.size === 0 || wanted.has(id));
if (rows.length === 0) {
  console.error(`no such rows: ${[...wanted].join(", ")}`);
  process.exit(2);
}

function run({ file, id }) {
  return new Promise((resolve) => {
    const child = fork(
      `${here}${file}`,
      [values.quick ? "--quick" : "", values.long ? "--long" : ""].filter(Boolean),
    );
    let result;
    child.on("message", (message) => {
      result = message;
    });
    child.once("exit", (code) => {
      const lost = [{ what: "the script", aim: "a result", figure: `exit code ${code}`, pass: false }];
      resolve(result ?? { id: id.toUpperCase(), title: file, checks: lost, notes: [], seconds: 0 });
    });
  });
}

async function lane(queue, results) {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const result = await run(next);
    results.push({ ...result, file: next.file });
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
const checks = results.flatMap((result) => result.checks.map((check) => ({ ...check, id: result.id })));
const failed = checks.filter(({ pass, why }) => pass === false && why === undefined);
const short = checks.filter(({ pass, why }) => pass === false && why !== undefined);
const open = checks.filter(({ pass }) => pass === undefined);
const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
const met = checks.length - failed.length - short.length - open.length;
console.log(
  `${checks.length} figures in ${minutes} min: ${met} meet their target, ${failed.length} miss it, ${short.length} miss it for a given reason, ${open.length} were not evaluated`,
);
for (const { id, what, figure, aim } of failed) console.log(`  ${id} ${what}: ${figure} (target: ${aim})`);
if (wanted.size === 0 && !values.quick) writeFileSync(`${here}../docs/faults.md`, page());
process.exitCode = failed.length === 0 ? 0 : 1;

/** The lines of one row in the table: what is done, and below it each figure. */
function tableOf({ id, title, checks: own }) {
  const word = ({ pass, why }) => {
    if (pass === undefined) return "not evaluated";
    return pass ? "yes" : `**no**${why === undefined ? "" : `: ${why}`}`;
  };
  const cell = (text) => String(text).replaceAll("|", "\\|").replaceAll("\n", " ");
  const lines = own.map((check) => ["", check.what, check.aim, check.figure, word(check)]);
  return [[`**${id}**`, `**${title}**`, "", "", ""], ...lines].map((cells) => cells.map(cell).join(" | "));
}

function page() {
  const git = (...args) => execFileSync("git", args, { encoding: "utf8", cwd: `${here}..` }).trim();
  const changed = git("status", "--porcelain", "--", "src", "faults", "package-lock.json") !== "";
  const commit = `${git("rev-parse", "--short", "HEAD")}${changed ? " with changes" : ""}`;
  const machine = `${cpus().length} × ${cpus()[0].model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.version}`;
  const lines = results.flatMap(tableOf);
  const notes = results.flatMap(({ id, notes: own }) => own.map((note) => `- ${id}: ${note}`));
  return `# Fault injection and load tests: results and targets

\`npm run faults\` at commit ${commit}, ${new Date().toISOString().slice(0, 10)}, in ${minutes} min; ${machine}.

Each row is a script in \`faults/\` that starts the built program with hostile servers, hosts and connections;
\`npm run faults -- F1,L6\` runs some of them. *Base* is the same run without the fault. A row fails when a figure misses its
target; where the test itself prevents it, the last column has the reason. A time that missed its target while other processes
kept the machine busy is not evaluated.

**${checks.length} figures: ${met} meet their target, ${failed.length} miss it, ${short.length} miss it for the given reason, ${open.length} were not evaluated.**

| row | fault or load, and what is measured | target | figure | pass |
|---|---|---|---|---|
${lines.map((line) => `| ${line} |`).join("\n")}

## Notes

${notes.join("\n")}
`;
}
