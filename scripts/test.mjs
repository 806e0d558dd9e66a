/**
 * `npm test`: installs what is missing, builds, and runs every test while types, lint and unused code are checked; flags go to
 * vitest, which then runs alone. `npm run test:all` (scripts/nodes.mjs): whole matrices, on each Node.
 */
import { spawn } from "node:child_process";
import { constants, setPriority } from "node:os";
import { build } from "./build.mjs";
import { root } from "./install.mjs";

const bin = (name) => `${root}node_modules/.bin/${name}`;
const CODE = ["src", "test", "scripts", "bench", "faults", "cluster"];
const CHECKS = [
  [bin("tsc"), "-p", "tsconfig.test.json"],
  [bin("biome"), "check", "--error-on-warnings", "."],
  [bin("oxlint"), "--type-aware", "--deny-warnings", ...CODE],
  [bin("knip")],
];

/**
 * Runs the tests with `program` (a Node) and, unless there are flags, the checks one after the other beside them: tests wait for
 * processes and timers a third of their time. The output of a check is written when it has ended.
 *
 * @returns the names of what has failed
 */
export async function testAndCheck({ program = process.execPath, flags = [], env = process.env, checks }) {
  const vitest = [program, `${root}node_modules/vitest/vitest.mjs`, "run", ...flags];
  const failed = [];
  const tests = exitOf(vitest, { env, stdio: ["ignore", 1, 2] });
  for (const check of checks ? CHECKS : []) {
    const { code, output } = await exitOf(check, { stdio: ["ignore", "pipe", "pipe"] });
    if (code === 0) continue;
    const name = check[0].split("/").at(-1);
    console.error(`\n${name}: failed\n${output}`);
    failed.push(name);
  }
  const { code } = await tests;
  return code === 0 ? failed : ["vitest", ...failed];
}

/** The exit code of a program and what it has written to pipes. */
function exitOf([command, ...args], options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, ...options });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    }
    if (child.stdout !== null) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    child.on("error", reject).on("close", (code) => resolve({ code, output }));
  });
}

if (import.meta.url === `file://${process.argv[1]}`) {
  build();
  const flags = process.argv.slice(2);
  const failed = await testAndCheck({ flags, checks: flags.length === 0 });
  if (failed.length > 0) console.error(`\nfailed: ${failed.join(", ")}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}
