/** The official conformance suite: installed beside the project, run, and its results read. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

export const SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
/** The suite needs Node 22 or later; the gateway runs on whatever Node runs this. */
const NODE = "node@24.21.0";

const cache = fileURLToPath(new URL("../../.cache/conformance/", import.meta.url));
const packageFolder = join(cache, "node_modules/@modelcontextprotocol/conformance");
const cli = join(packageFolder, "dist/index.js");
const node = join(cache, "node_modules/.bin/node");

/** Installs the suite, and a Node it can run on, where they are not there yet. Never touches the project's own lock. */
export function installSuite() {
  const stamp = join(cache, "installed");
  const wanted = `${SUITE} ${NODE}`;
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, "package.json"), '{ "private": true }\n');
  const args = ["install", "--no-engine-strict", "--no-audit", "--no-fund", "--prefix", cache, SUITE, NODE];
  const { status } = spawnSync("npm", args, { stdio: ["ignore", 2, 2], shell: process.platform === "win32" });
  if (status !== 0) throw new Error(`npm could not install ${wanted}`);
  writeFileSync(stamp, wanted);
}

/**
 * The scenarios of one revision, of one side, in the suite's order.
 *
 * @param {"server" | "client"} leg
 * @returns {readonly { name: string, scored: boolean }[]}
 */
export function scenariosOf(revision, leg) {
  const requirements = parse(readFileSync(join(packageFolder, "requirements", `${revision}.yaml`), "utf8"));
  const unscored = requirements.not_scored.filter((entry) => entry.leg === leg);
  return [
    ...requirements[leg].map((name) => ({ name, scored: true })),
    ...unscored.map(({ scenario }) => ({ name: scenario, scored: false })),
  ];
}

/**
 * What came of a run: for each scenario, the status of each of its checks. A check that was made more than once
 * counts by its worst.
 *
 * @typedef {Map<string, Map<string, "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED">>} Results
 */

/** Runs every server scenario of a revision against `url`. @returns {Promise<Results>} */
export async function runServerSuite(url, revision, folder) {
  await runSuite(["server", "--url", url, "--requirements", revision], folder);
  return readResults(folder, "server-");
}

/** The scenarios of skills (SEP-2640): they belong to no revision, so no requirements name them. */
export const SKILLS = {
  server: ["sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory"],
  client: [
    "sep-2640-client-no-prefetch",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-size",
    "sep-2640-client-verify-frontmatter",
  ],
};

/** Runs the server scenarios of skills against `url`. @returns {Promise<Results>} */
export async function runSkillsSuite(url, revision, folder) {
  const results = new Map();
  for (const scenario of SKILLS.server) {
    const of = join(folder, scenario);
    await runSuite(
      ["server", "--url", url, "--scenario", scenario, "--spec-version", revision, "--force"],
      of,
    );
    for (const [name, checks] of readResults(of, "server-")) results.set(name, checks);
  }
  return results;
}

/** Runs one client scenario with `command` as the client. @returns {Promise<Results>} */
export async function runClientScenario(scenario, revision, command, folder) {
  await runSuite(
    [
      "client",
      "--command",
      command,
      "--scenario",
      scenario,
      "--spec-version",
      revision,
      "--timeout",
      "60000",
      // Scenarios of extensions belong to no revision.
      "--force",
    ],
    folder,
  );
  return readResults(folder, "");
}

/** Its exit code says whether the suite is content, which is not the question here: the results are read instead. */
async function runSuite(args, folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const child = spawn(node, [cli, ...args, "-o", folder], { stdio: ["ignore", "pipe", "pipe"] });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk));
  await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  writeFileSync(join(folder, "output.log"), Buffer.concat(output));
}

const WORST_FIRST = ["FAILURE", "WARNING", "SUCCESS", "INFO", "SKIPPED"];

function readResults(folder, prefix) {
  const results = new Map();
  for (const file of readdirSync(folder, { recursive: true }).sort()) {
    if (basename(file) !== "checks.json") continue;
    // The name of a scenario may have a slash, and its folder is then in another.
    const name = dirname(file).replaceAll(sep, "/");
    const scenario = name.slice(prefix.length).replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
    const checks = new Map();
    for (const { id, status } of JSON.parse(readFileSync(join(folder, file), "utf8"))) {
      const rank = WORST_FIRST.indexOf(status);
      const before = WORST_FIRST.indexOf(checks.get(id));
      if (rank >= 0 && (before < 0 || rank < before)) checks.set(id, status);
    }
    results.set(scenario, checks);
  }
  return results;
}
