/**
 * `npm run test:all [-- flags]`: builds, checks and runs every test on each Node that the project is made for: whole matrices, and
 * 5,000 runs of each property. Flags go to vitest. With `--ends`, as CI does, the smallest and the newest Node run, with what CARDEA_SAMPLE
 * draws: the smallest a sample of every matrix (test/support/sample.ts) and a third of the files that start programs, the newest a quarter
 * of the files, without what is in `REST` and `ONCE`.
 *
 * The first that fails ends the run, so that the failed tests are the last lines of its output.
 *
 * Each comes from the registry (the package `node`) into a folder of its own, and is kept there.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { build } from "./build.mjs";
import { root, run } from "./install.mjs";
import { programTests } from "./program-tests.mjs";
import { testAndCheck } from "./test.mjs";

/** The smallest is the one that `engines` in package.json allows; exact, so that no release fails what passed before. */
const NODES = ["20.19.0", "22.23.3", "24.21.0", "26.10.0"];
/** What depends least on the version of Node, and is most of the time: other people's programs, whole questions, and logic without I/O. */
const REST = [
  ...["real", "scenarios", "policy", "resilience", "catalog", "core", "config", "patterns", "telemetry"],
  ...["docs", "architecture", "shipping", "console", "routing", "bench", "conformance"],
].flatMap((folder) => ["--exclude", `test/${folder}/**`]);
/** Over the days each file runs on the newest Node: the seed of the samples says which quarter does today. */
const SHARDS = 4;
/** The tests once, not again through `call_tool`. */
const ONCE = ["--project", "!through*"];

const flags = process.argv.slice(2).filter((flag) => flag !== "--ends");
const onlyEnds = flags.length < process.argv.length - 2;

const seed = Number(process.env.CARDEA_SAMPLE ?? 0);
/** A quarter of the files. */
const shard = `--shard=${(seed % SHARDS) + 1}/${SHARDS}`;
/** Two of three files that start programs. */
const programsLeftOut = () =>
  programTests(root)
    .filter((_, at) => (at + seed) % 3 !== 0)
    .flatMap((path) => ["--exclude", path]);

/** The program of that version, fetched where it is missing. Ends this process, loudly, where it cannot be had. */
function fetched(version) {
  const folder = join(root, "node_modules", ".cache", "nodes", version);
  const program = join(folder, "node_modules", "node", "bin", "node");
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    run("npm", ["install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", `node@${version}`]);
  }
  const { stdout, error } = spawnSync(program, ["--version"], { encoding: "utf8" });
  if (error === undefined && stdout.trim() === `v${version}`) return program;
  console.error(
    `Node ${version} could not be fetched into ${folder}: ${error?.message ?? `it says ${stdout}`}`,
  );
  process.exit(1);
}

const chosen = onlyEnds ? [NODES[0], NODES.at(-1)] : NODES;
const programs = chosen.map((version) => [version, fetched(version)]);
build();
for (const [version, program] of programs) {
  console.error(`\nNode ${version}`);
  const newest = version === NODES.at(-1);
  const left = !onlyEnds ? [] : newest ? [...REST, ...ONCE, shard] : programsLeftOut();
  const failed = await testAndCheck({
    program,
    flags: [...flags, ...left],
    checks: flags.length === 0 && version === chosen[0],
    // What the tests start by the name `node` is the same one.
    env: {
      ...process.env,
      ...(!onlyEnds && { CARDEA_TEST_ALL: "1" }),
      PATH: `${dirname(program)}${delimiter}${process.env.PATH}`,
    },
  });
  if (failed.length === 0) continue;
  console.error(`\non Node ${version} failed: ${failed.join(", ")}`);
  process.exit(1);
}
console.error(`\ntests on Node ${chosen.join(", ")}: all pass`);
