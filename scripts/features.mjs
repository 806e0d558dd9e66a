/**
 * `npm run features`: the build without a feature, or without all.
 *
 * - `--list`: the features, each with what it is
 * - `--without NAME [FOLDER…]`: a copy of the tree without the folder of a feature, its tests and its line in src/features/index.ts passes the
 *   compiler and the tests that remain (in these folders of test/), the program starts, and a config with its section is refused with its position
 *   (features that import it go with it, and so do tests of two features)
 * - `--only-kernel`: the same without all of them
 * - `--all`: `--without` for each, then `--only-kernel`
 * - `--sample`: one of them, and `--only-kernel`, with half of the files in `QUICK` that start no program, as CI does; CARDEA_SAMPLE says which
 *
 * docs/, config/reference.md and the golden files are written for all features, so the tests that compare them are left out.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root, run } from "./install.mjs";
import { programTests } from "./program-tests.mjs";

const INDEX = "src/features/index.ts";
/** They compare what is written, or packed, for all features. */
const OF_ALL = [
  "docs",
  "golden",
  "shipping",
  "config/generated.test.ts",
  "architecture/page.test.ts",
  "security/page.test.ts",
];
/** Chooses in `--sample`. */
const sample = Number(process.env.CARDEA_SAMPLE ?? Math.floor(Math.random() * 100_000));
/** What says most of what is wired, in seconds. */
const QUICK = ["architecture", "config", "core", "gateway", "features"];
/** The features of a list, by name, with the section of the config that each has. */
function featuresOf(index) {
  return [...index.matchAll(/^import \{ (\w+) \} from "\.\/([\w-]+)\/feature\.js";$/gm)].map(
    ([line, symbol, name]) => {
      const folder = `${root}src/features/${name}/`;
      const [, sentence = ""] =
        /^\/\*\*\s*(.*?)\s*\*\//s.exec(readFileSync(`${folder}feature.ts`, "utf8")) ?? [];
      return {
        line,
        symbol,
        name,
        sentence: sentence.replace(/\s*\n \* ?/g, " "),
        section: sectionOf(folder),
        needs: featuresNeededBy(folder, name),
      };
    },
  );
}

/** The other features that its files import. */
function featuresNeededBy(folder, name) {
  const texts = filesIn(folder).map((file) => readFileSync(file, "utf8"));
  const found = texts.flatMap((text) =>
    [...text.matchAll(/from "(?:\.\.\/)+([\w-]+)\//g)].map(([, first]) => first),
  );
  return [...new Set(found)].filter(
    (first) => first !== name && existsSync(`${root}src/features/${first}/feature.ts`),
  );
}

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name));

/** `left` with the features that need one of them. */
function withDependents(left) {
  const more = features.filter(
    (feature) =>
      !left.includes(feature) && feature.needs.some((name) => left.some((each) => each.name === name)),
  );
  return more.length === 0 ? left : withDependents([...left, ...more]);
}

/**
 * Removes the tests that import what is gone, such as one that a feature keeps for tests that need it, and the console where it
 * shows the rows of a feature that is gone.
 */
function removeTestsOf(copy) {
  const ofConsole = ["src", "test"].map((folder) => join(copy, folder, "console"));
  if (filesIn(ofConsole[0]).some((file) => importsMissing(copy, file)))
    for (const folder of ofConsole) rmSync(folder, { recursive: true });
  for (let isDone = false; !isDone; ) {
    const broken = filesIn(join(copy, "test")).filter((file) => importsMissing(copy, file));
    for (const file of broken) rmSync(file);
    isDone = broken.length === 0;
  }
}

/** Whether it imports a file of src/ or test/ that is not there. */
const importsMissing = (copy, file) =>
  [...readFileSync(file, "utf8").matchAll(/(?: from|\bimport) "(\.[^"]+)\.js"/g)].some(([, path]) => {
    const imported = join(dirname(file), path);
    return (
      ["src", "test"].some((folder) => imported.startsWith(join(copy, folder))) &&
      !["ts", "tsx", "js", "mjs"].some((end) => existsSync(`${imported}.${end}`))
    );
  });

/** Its section, or the type of the servers that it reaches; undefined for a feature without any. */
function sectionOf(folder) {
  try {
    const text = readFileSync(`${folder}section.ts`, "utf8");
    const type = /channelOf\(\{\n {2}type: "([\w-]+)",$/m.exec(text)?.[1];
    if (type !== undefined) return { type };
    const path = /^ {2}path: "([\w.]+)",$/m.exec(text)?.[1];
    return path === undefined ? undefined : { path, isOfServer: text.includes('of: "server"') };
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Checks the build without `left`. Ends this process where something is wrong. */
function checkWithout(chosen, tests) {
  const left = withDependents(chosen);
  console.error(`\nwithout ${left.map(({ name }) => name).join(", ")}`);
  const copy = mkdtempSync(join(tmpdir(), "cardea-features-"));
  try {
    for (const file of trackedFiles()) cpSync(join(root, file), join(copy, file));
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    let index = readFileSync(join(copy, INDEX), "utf8");
    for (const { line, symbol, name } of left) {
      index = index.replace(`${line}\n`, "").replace(new RegExp(`(?<=[[,\\s])${symbol},?(?=[\\s\\]])`), "");
      for (const folder of ["src", "test"])
        rmSync(join(copy, folder, "features", name), { recursive: true, force: true });
    }
    writeFileSync(join(copy, INDEX), index);
    removeTestsOf(copy);
    inCopy(copy, "node", ["scripts/build.mjs", "--installed"]);
    inCopy(copy, "node_modules/.bin/tsc", ["-p", "tsconfig.test.json"]);
    startAndStop(copy);
    for (const { name, section } of left) if (section !== undefined) expectRefusal(copy, name, section);
    inCopy(copy, "node_modules/.bin/vitest", [
      ...["run", "--project", "!through*", ...tests.map((folder) => `test/${folder}`)],
      ...OF_ALL.flatMap((path) => ["--exclude", `test/${path}${path.endsWith(".ts") ? "" : "/**"}`]),
      // They stay in the copy, as tests of the tree look for them.
      ...(tests === QUICK ? programTests(copy) : []).flatMap((path) => ["--exclude", path]),
      ...(tests === QUICK ? [`--shard=${(sample % 2) + 1}/2`] : []),
    ]);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const trackedFiles = () =>
  spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    ...{ cwd: root, encoding: "utf8" },
  })
    .stdout.split("\n")
    .filter((file) => file !== "" && existsSync(join(root, file)));

const inCopy = (copy, command, args) =>
  run(command.includes("/") ? join(copy, command) : command, args, { cwd: copy });

/** The program serves, and ends when it is asked to. */
function startAndStop(copy) {
  writeFileSync(join(copy, "empty.json"), '{ "mcpServers": {} }');
  const serve = "node dist/main.js serve --config empty.json --port 0";
  const script = `${serve} 2>log & gateway=$!; for _ in $(seq 60); do grep -q 'ready: http' log && break; sleep 0.5; done; kill -TERM $gateway; wait $gateway && grep -q 'ready: http' log`;
  const env = { ...withState(copy), CARDEA_ADMIN_PORT: "0" };
  const { status } = spawnSync("bash", ["-c", script], { cwd: copy, env });
  if (status !== 0) fail(`the program does not start: ${readFileSync(join(copy, "log"), "utf8")}`);
}

/** A config with the section, or a server of the type, and the reason why it is refused; the second line is at fault. */
function refusedConfig({ type, path = "", isOfServer }) {
  if (type !== undefined)
    return [
      `{ "mcpServers": { "a": { "url": "https://a.example",\n  "type": "${type}" } } }`,
      /must be one of/,
    ];
  const [first, second] = path.split(".");
  const content = `"${first}": { ${second === undefined ? "" : `"${second}": {} `}}`;
  return isOfServer
    ? [
        `{ "mcpServers": { "a": { "command": "node",\n  ${content} } } }`,
        /has an unknown key|no feature of this build/,
      ]
    : [`{ "mcpServers": {},\n  ${content} }`, /no feature of this build/];
}

/** It is refused with its position; of a server's section the server is misconfigured. */
function expectRefusal(copy, name, section) {
  const [text, reason] = refusedConfig(section);
  const file = join(copy, "of-feature.json");
  writeFileSync(file, text);
  const { status, stdout, stderr } = spawnSync("node", ["dist/main.js", "check", "--config", file], {
    ...{ cwd: copy, encoding: "utf8", env: withState(copy) },
  });
  const said = `${stdout}${stderr}`;
  if (status !== 78 || !/of-feature\.json:2:\d+/.test(said) || !reason.test(said))
    fail(`a config with the section of ${name} ends with ${status}: ${said}`);
}

const withState = (copy) => ({ ...process.env, CARDEA_STATE_DIR: join(copy, ".state") });

function fail(sentence) {
  console.error(sentence);
  process.exitCode = 1;
  throw new Error("a build without a feature is not whole");
}

const features = featuresOf(readFileSync(`${root}${INDEX}`, "utf8"));
const [flag, name, ...folders] = process.argv.slice(2);
const one = features.find((feature) => feature.name === name);
if (flag === "--list") for (const each of features) console.log(`${each.name.padEnd(22)}${each.sentence}`);
else if (flag === "--without" && one !== undefined)
  checkWithout([one], folders.length === 0 ? [""] : folders);
else if (flag === "--only-kernel") checkWithout(features, [""]);
else if (flag === "--all") {
  for (const feature of features) checkWithout([feature], [""]);
  checkWithout(features, [""]);
} else if (flag === "--sample") {
  console.error(`CARDEA_SAMPLE=${sample} chooses the same again`);
  checkWithout([features[sample % features.length]], QUICK);
  checkWithout(features, QUICK);
} else {
  const names = features.map((feature) => feature.name).join("|");
  console.error(
    `npm run features -- --list | --without ${names} [FOLDER…] | --only-kernel | --all | --sample`,
  );
  process.exit(2);
}
