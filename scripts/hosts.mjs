/**
 * `npm run hosts [-- ID…]`: real host programs of the npm registry with the built gateway, each configured by `cardea install`, once
 * with the URL of a running gateway and once over stdio. A stand-in for the model calls one tool; its result must come back. Then in
 * two projects with one running gateway, whose server works in the folder of its host (`cwd: "roots"`). Last a result of 1 MB with a
 * budget: its preview must come back, and a page behind it. Writes docs/hosts.md when all were run; with `--large` only the last is run. The programs (1 GB) are kept in ~/.cache/cardea-hosts.
 */
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { build } from "./build.mjs";
import { startModel } from "./hosts/model.mjs";
import { PROGRAMS } from "./hosts/programs.mjs";
import { root } from "./install.mjs";

const CACHE = join(homedir(), ".cache", "cardea-hosts");
const TIMEOUT_MS = 120_000;
const PROMPT = "Call the echo tool.";
const TEXT = "a text that only the server sends back";

const main = join(root, "dist/main.js");

/** Installs the programs if they are missing, without running install scripts but those that `setUp` names. */
function fetchPrograms(programs) {
  mkdirSync(CACHE, { recursive: true });
  const stamp = join(CACHE, "package.json");
  if (!existsSync(stamp)) writeFileSync(stamp, '{ "private": true }');
  const packages = programs.map((program) => program.package);
  const { status } = spawnSync(
    "npm",
    ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...packages],
    {
      cwd: CACHE,
      stdio: ["ignore", 2, 2],
    },
  );
  if (status !== 0) process.exit(1);
  for (const { package: name, setUp } of programs) {
    if (setUp === undefined) continue;
    const cwd = join(CACHE, "node_modules", name.slice(0, name.lastIndexOf("@")));
    const done = spawnSync(process.execPath, [setUp], { cwd, stdio: ["ignore", 2, 2] });
    if (done.status !== 0) process.exit(1);
  }
}

/** A config with two servers in a new folder, and a home folder beside it. */
function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), "cardea-hosts-"));
  const server = (name, ...args) => ({
    command: process.execPath,
    args: [join(root, "node_modules/@modelcontextprotocol", name, "dist/index.js"), ...args],
  });
  const mcpServers = {
    everything: server("server-everything", "stdio"),
    files: server("server-filesystem", folder),
    here: { command: process.execPath, args: [join(root, "scripts/hosts/folder-server.mjs")], cwd: "roots" },
  };
  writeFileSync(join(folder, "cardea.json"), JSON.stringify({ mcpServers }));
  mkdirSync(join(folder, "home"));
  for (const project of ["project", "other"]) mkdirSync(join(folder, project));
  return realpathSync(folder);
}

async function startGateway(folder) {
  const flags = ["--config", join(folder, "cardea.json"), "--port", "0", "--admin-port", "0"];
  const child = spawn(process.execPath, [main, "serve", ...flags, "--state-dir", join(folder, "state")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    log += text;
  });
  for (;;) {
    const [, url] = /ready: (http:\S+)/.exec(log) ?? [];
    if (url !== undefined) return { url, stop: () => stopped(child) };
    if (child.exitCode !== null) throw new Error(log);
    await wait(20);
  }
}

/** Resolves when the gateway has ended, and writes no more into its state folder. */
const stopped = (child) =>
  new Promise((resolve) => {
    child.once("close", resolve);
    child.kill("SIGTERM");
  });

/** Runs a program; resolves to what it wrote, when it has ended or its time is over. */
function run(command, args, options) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    child.once("close", () => {
      clearTimeout(timer);
      resolve(output);
    });
  });
}

/** Configures the host in `folder`, and runs it in `project` with a model that calls a tool. @returns what the model saw, and the output */
async function runHost(program, { folder, gateway, project, wanted, args: toolArgs, next }) {
  const model = await startModel({ wanted, args: toolArgs, waitBy: program.waitBy, next });
  try {
    const home = join(folder, "home");
    for (const [path, text] of Object.entries(program.files(model.url))) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), text);
    }
    const { PATH } = process.env;
    const env = { PATH, HOME: home, TERM: "dumb", CARDEA_STATE_DIR: join(folder, "state") };
    const options = { cwd: join(folder, project), env };
    const flags = ["--config", join(folder, "cardea.json"), ...(gateway ? ["--url", gateway.url] : [])];
    const installed = await run(process.execPath, [main, "install", program.id, ...flags], options);
    const { args, env: more } = program.run(PROMPT, model.url);
    const bin = join(CACHE, "node_modules/.bin", program.bin);
    const output = await run(bin, args, { ...options, env: { ...env, ...more } });
    return { ...model.seen, output: `${installed}\n${output.slice(-2000)}` };
  } finally {
    model.stop();
  }
}

/** One host over one transport. @returns undefined, or what went wrong */
async function tryHost(program, transport) {
  const folder = newFolder();
  const gateway = transport === "http" ? await startGateway(folder) : undefined;
  const call = { wanted: /everything__echo/, args: { message: TEXT } };
  try {
    const { results, tools, output } = await runHost(program, {
      folder,
      gateway,
      project: "project",
      ...call,
    });
    if (results.some((result) => result.includes(TEXT))) return undefined;
    return `no result\n${output}\ntools: ${tools.join(" ")}\n${results.join("\n")}`;
  } finally {
    await gateway?.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** One host in two projects with one gateway. @returns the cell of the table, and what went wrong */
async function tryProjects(program) {
  const folder = newFolder();
  const gateway = await startGateway(folder);
  const call = { wanted: /here__where/, args: {} };
  try {
    for (const project of ["project", "other"]) {
      const { results, output } = await runHost(program, { folder, gateway, project, ...call });
      const seen = results.join("\n");
      if (seen.includes("this host names none")) return { cell: "names no roots" };
      if (!seen.includes(`works in ${join(folder, project)}.`))
        return { cell: "**no**", fault: `not in ${project}\n${output}\n${seen}` };
    }
    return { cell: "yes" };
  } finally {
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** A line that is far behind the preview. */
const FAR = 20_000;
const lineOf = (at) => `line ${at}: ${"the quick brown fox".slice(at % 7)}`;

/** One host with a result of 1 MB. @returns the cell of the table, and what went wrong */
async function tryLarge(program) {
  const folder = newFolder();
  const file = join(folder, "project/large.txt");
  writeFileSync(file, Array.from({ length: 40_000 }, (_, at) => lineOf(at)).join("\n"));
  const config = join(folder, "cardea.json");
  writeFileSync(
    config,
    JSON.stringify({ ...JSON.parse(readFileSync(config, "utf8")), results: { maxTokens: 2_000 } }),
  );
  const gateway = await startGateway(folder);
  const idIn = (texts) => /read_result with \{\W*id\W*:\W*([0-9a-f]{32})/.exec(texts.join("\n"))?.[1];
  const next = {
    wanted: /read_result$/,
    argsOf: (texts) => ({ id: idIn(texts) ?? "", offset: FAR, limit: 1 }),
  };
  const call = { wanted: /files__read_text_file/, args: { path: file }, next };
  try {
    const { results, output } = await runHost(program, { folder, gateway, project: "project", ...call });
    const previews = results.filter((result) => idIn([result]) !== undefined);
    const isRead = results.some((result) => result.includes(lineOf(FAR)));
    if (previews.length > 0 && isRead)
      return { cell: "yes", bytes: Math.max(...previews.map((text) => text.length)) };
    const what = previews.length === 0 ? "no preview" : "no page";
    return { cell: "**no**", fault: `${what}\n${output}\n${results.join("\n").slice(0, 4000)}` };
  } finally {
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

build();
const isLargeOnly = process.argv.includes("--large");
const ids = process.argv.slice(2).filter((id) => id !== "--large");
const programs = ids.length === 0 ? PROGRAMS : PROGRAMS.filter(({ id }) => ids.includes(id));
fetchPrograms(programs);
const rows = [];
let failed = 0;
for (const program of programs) {
  const large = await tryLarge(program);
  if (large.fault !== undefined) failed += 1;
  console.error(
    `${program.id} with a result of 1 MB: ${large.fault ?? `${large.cell}, ${large.bytes} bytes`}`,
  );
  if (isLargeOnly) continue;
  const cells = [];
  for (const transport of ["http", "stdio"]) {
    const fault = await tryHost(program, transport);
    if (fault !== undefined) failed += 1;
    console.error(`${program.id} over ${transport}: ${fault ?? "the tool's result came back"}`);
    cells.push(fault === undefined ? "yes" : "**no**");
  }
  const { cell, fault } = await tryProjects(program);
  if (fault !== undefined) failed += 1;
  console.error(`${program.id} in two projects: ${fault ?? cell}`);
  cells.push(cell, large.cell);
  rows.push(`| \`${program.package}\` | \`cardea install ${program.id}\` | ${cells.join(" | ")} |`);
}
if (ids.length === 0 && !isLargeOnly) {
  const page = `# Hosts that were run

Written by \`npm run hosts\`: the program of the npm registry with the built gateway, configured by \`cardea install\`, with a stand-in for
its model that calls one tool of \`server-everything\`. *Yes*: the tool's result reached the model. *Two projects*: run in two folders with
one gateway over HTTP, a server with \`cwd: "roots"\` ([working folders](working-folders.md)) worked in the folder of each. *1 MB*: of a result
of that size the model got a [preview](results.md), and with \`read_result\` a line 20,000 lines behind its beginning.

| host | configured by | \`--url\` of a running gateway | stdio | two projects | 1 MB |
|---|---|---|---|---|---|
${rows.join("\n")}
`;
  writeFileSync(join(root, "docs/hosts.md"), page);
}
process.exit(failed === 0 ? 0 : 1);
