/**
 * `npm run lock:real [-- FOLDER]`: installs the servers of `scripts/lock/servers.mjs` from the npm registry into FOLDER (default: a new
 * folder, removed afterwards), and checks `cardea lock` and `cardea scan` on them. Exits with 1 when one of these does not hold:
 *
 * - all servers are read, and two locks of them are the same bytes
 * - `lock --check` starts none of them, and nothing differs
 * - with three of them in an older version, `lock --check` starts these, and names exactly what a host of each version sees differ
 * - `scan` finds nothing of severity `high`
 *
 * About 1.3 GB and ten minutes; needs the network, and is not part of CI.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { build } from "./build.mjs";
import { root } from "./install.mjs";
import { expectedDifferences } from "./lock/definitions.mjs";
import { entryOf, installServers, UPGRADED, writeConfig } from "./lock/installed.mjs";
import { SERVERS } from "./lock/servers.mjs";

const [given] = process.argv.slice(2);
const folder = given ?? mkdtempSync(join(tmpdir(), "cardea-lock-real-"));
const names = Object.keys(SERVERS);
const lockFile = join(folder, "cardea.lock");

/** Runs a command of Cardea with the config. */
function cardea(...words) {
  const args = [`${root}dist/main.js`, ...words, "--config", join(folder, "cardea.json")];
  const env = { ...process.env, XDG_STATE_HOME: join(folder, "state"), CARDEA_CONFIG: "" };
  const options = { cwd: folder, env, encoding: "utf8", maxBuffer: 2 ** 28 };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, options);
  return { status, stdout, stderr };
}

/** Prints a line, and whether it holds. */
function expect(what, holds, otherwise = "") {
  console.log(`${holds ? "ok    " : "FAILED"} ${what}`);
  if (holds) return;
  if (otherwise !== "") console.log(otherwise);
  process.exitCode = 1;
}

function lockTwice() {
  const first = cardea("lock", "--fresh");
  expect(`${names.length} servers are read and locked`, first.status === 0, first.stderr);
  const bytes = readFileSync(lockFile);
  rmSync(lockFile);
  cardea("lock", "--fresh");
  const same = bytes.equals(readFileSync(lockFile));
  expect("two locks are the same bytes", same);
  const { servers } = JSON.parse(bytes);
  const lists = Object.values(servers).map((server) =>
    ["tools", "prompts", "resources", "resourceTemplates"].map((kind) => server[kind]?.length ?? 0),
  );
  const sums = [0, 1, 2, 3].map((at) => lists.reduce((sum, counts) => sum + counts[at], 0));
  console.log(
    `       ${sums[0]} tools, ${sums[1]} prompts, ${sums[2]} resources, ${sums[3]} templates; ${(statSync(lockFile).size / 1024).toFixed(0)} KiB`,
  );
}

/** Nothing is started where nothing has changed. */
function checkUnchanged() {
  const start = performance.now();
  const { status, stdout, stderr } = cardea("lock", "--check", "--json");
  const { same, notStarted = [] } = status === 0 ? JSON.parse(stdout) : {};
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  expect(
    `lock --check starts none of ${names.length} servers and finds no difference (${seconds} s)`,
    same === true && notStarted.length === names.length,
    `${stdout}${stderr}`,
  );
}

/** The lock is that of the later versions. */
async function checkUpgraded() {
  writeConfig(folder, UPGRADED);
  const { status, stdout, stderr } = cardea("lock", "--check", "--json");
  writeConfig(folder);
  expect("lock --check exits with 3 for other versions", status === 3, stderr);
  const { servers, notStarted } = JSON.parse(stdout);
  const others = names.length - UPGRADED.length;
  expect(`it starts the ${UPGRADED.length} others only`, notStarted.length === others);
  expect(
    `it names ${UPGRADED.join(", ")} and no other server`,
    isDeepStrictEqual(servers.map(({ server }) => server).sort(), [...UPGRADED].sort()),
  );
  for (const name of UPGRADED) {
    const expected = await expectedDifferences(entryOf(name, folder), entryOf(name, folder, true));
    const { differences = [] } = servers.find(({ server }) => server === name) ?? {};
    const found = differences.map((each) => `${each.change} ${each.kind} ${each.name}`).sort();
    const { package: own, version, older } = SERVERS[name];
    const lines = [
      ...found.map((line) => `  cardea: ${line}`),
      ...expected.map((line) => `  hosts:  ${line}`),
    ];
    expect(
      `${own} ${version} → ${older}: ${summary(found)}`,
      isDeepStrictEqual(found, expected),
      lines.join("\n"),
    );
  }
}

/** `2 changed, 1 new` of definitions. */
function summary(found) {
  const counts = ["changed", "new", "removed"].map((word) => [
    word,
    found.filter((line) => line.startsWith(word) && !line.startsWith(`${word} start`)).length,
  ]);
  return counts.map(([word, count]) => `${count} ${word}`).join(", ");
}

function scan() {
  const { stdout } = cardea("scan", lockFile, "--json", "--min-severity", "high");
  const { findings, definitions } = JSON.parse(stdout);
  const flagged = (least) =>
    new Set(
      findings
        .filter(({ severity }) => least.includes(severity))
        .map((each) => `${each.server} ${each.name}`),
    );
  const high = findings.filter(({ severity }) => severity === "high");
  expect(
    `scan of ${definitions} definitions: none high, ${flagged(["high", "medium"]).size} medium`,
    high.length === 0,
    high
      .map((each) => `  ${each.server} ${each.name}${each.pointer}: ${each.message}: ${each.excerpt}`)
      .join("\n"),
  );
}

build({ installed: true });
installServers(folder);
writeConfig(folder);
try {
  lockTwice();
  checkUnchanged();
  await checkUpgraded();
  scan();
} finally {
  if (given === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
