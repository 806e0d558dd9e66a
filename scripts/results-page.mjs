/**
 * `npm run results:page [-- TOOL…]`: large results of real tools with and without a budget, and questions about what no preview shows,
 * answered by `read_result` and by `resources/read` at hosts of both eras. Writes the table of docs/results.md when all were asked. The
 * servers (400 MB) are kept in ~/.cache/cardea-results.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Host } from "../test/support/host/host.mjs";
import { build } from "./build.mjs";
import { root } from "./install.mjs";
import { asked, idIn, readableOf, sizeOf, Unanswered } from "./results/ask.mjs";
import { writeFixture } from "./results/fixture.mjs";
import { MORE_CASES } from "./results/more-cases.mjs";
import { OWN_CASES } from "./results/own-cases.mjs";
import { allServers, installServers } from "./results/servers.mjs";
import { startSite } from "./results/site.mjs";

const BUDGET = 2_000;
const MAX_STEPS = 3;
const PAGE = join(root, "docs/results.md");

const only = process.argv.slice(2);
const all = [...OWN_CASES, ...MORE_CASES];
const cases = only.length === 0 ? all : all.filter(({ tool }) => only.includes(tool));

if (process.env.CARDEA_BUILT === undefined) build();
const folder = realpathSync(mkdtempSync(join(tmpdir(), "cardea-results-")));
const site = await startSite();
let failed = 0;
try {
  const fixture = writeFixture(folder);
  const servers = await allServers(fixture, site, installServers());
  const before = await withGateway(servers, {}, sizes(fixture));
  const rows = await withGateway(servers, { results: { maxTokens: BUDGET } }, answers(fixture, before));
  if (only.length === 0 && failed === 0) writeTable(rows);
  console.log(table(rows));
} finally {
  await site.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}
process.exit(failed === 0 ? 0 : 1);

/** Runs `work` with the URL of a gateway in front of all servers. */
async function withGateway(mcpServers, more, work) {
  const config = join(folder, "cardea.json");
  writeFileSync(config, JSON.stringify({ mcpServers, startupWait: "5m", ...more }));
  const flags = [
    "--config",
    config,
    "--port",
    "0",
    "--admin-port",
    "0",
    "--state-dir",
    join(folder, "state"),
  ];
  const child = spawn(process.execPath, [join(root, "dist/main.js"), "serve", ...flags], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    log += text;
  });
  try {
    for (;;) {
      const [, url] = /ready: (http:\S+)/.exec(log) ?? [];
      if (url !== undefined) return await work(url);
      if (child.exitCode !== null) throw new Error(log);
      await wait(20);
    }
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}

/** A host, and a function that resolves to the result of a request. */
async function openHost(url, era) {
  const host = await (await new Host(url, era).open()).discover();
  await host.list("tools");
  let last = 0;
  return async function request(method, params) {
    last += 1;
    const { result, error } = await host.send(`page-${last}`, method, params);
    if (error !== undefined) throw new Unanswered(JSON.stringify(error));
    return result;
  };
}

async function resultOf(request, { tool, before = [], args }, fixture) {
  for (const [name, argsOf] of before)
    await request("tools/call", { name, arguments: argsOf(fixture, site) });
  return request("tools/call", { name: tool, arguments: args(fixture, site) });
}

/** What results take without a budget. */
function sizes(fixture) {
  return async (url) => {
    const request = await openHost(url, "modern");
    const found = [];
    for (const each of cases) {
      const result = await resultOf(request, each, fixture);
      if (result.isError) throw new Error(`${each.tool}: ${readableOf(result).slice(0, 500)}`);
      found.push(sizeOf(result));
    }
    return found;
  };
}

/** What they take with one, and whether questions are answered. */
function answers(fixture, before) {
  return async (url) => {
    const hosts = { legacy: await openHost(url, "legacy"), modern: await openHost(url, "modern") };
    const rows = [];
    for (const [at, each] of cases.entries()) {
      const row = { ...each, before: before[at], after: 0, answered: 0, asked: 0, steps: 0 };
      for (const [era, request] of Object.entries(hosts)) {
        const result = await resultOf(request, each, fixture);
        row.after = sizeOf(result);
        await askAll(request, result, { each, row, era });
      }
      rows.push(row);
      console.error(
        `${row.tool} (${row.kind}): ${row.before} → ${row.after} characters, ${row.answered} of ${row.asked} answers`,
      );
    }
    return rows;
  };
}

async function askAll(request, result, { each, row, era }) {
  const [id, preview] = [idIn(result), readableOf(result)];
  for (const question of each.questions) {
    for (const way of ["read_result", "resources/read"]) {
      row.asked += 1;
      try {
        const steps = await asked(request, way, { id, preview, question });
        if (steps > MAX_STEPS) throw new Unanswered(`"${question.ask}" takes ${steps} steps`);
        row.steps = Math.max(row.steps, steps);
        row.answered += 1;
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        failed += 1;
        console.error(`${each.tool}, ${era}: ${error.message}`);
      }
    }
  }
}

function table(rows) {
  const tokens = (characters) => Math.ceil(characters / 4).toLocaleString("en");
  const cells = rows.map(
    ({ tool, kind, before, after, questions, steps }) =>
      `| \`${tool.replace(/^.*?__/, "")}\` of ${tool.replace(/__.*$/, "")} | ${kind} | ${tokens(before)} | ${tokens(after)} | ${questions.length} | ${steps === 0 ? "" : steps} |`,
  );
  const sum = (member) => rows.reduce((total, row) => total + row[member], 0);
  const count = rows.reduce((total, { questions }) => total + questions.length, 0);
  return `| tool | result | tokens | of the preview | questions | most steps |
|---|---|---|---|---|---|
${cells.join("\n")}
| ${rows.length} | | ${tokens(sum("before"))} | ${tokens(sum("after"))} | ${count}, each asked ${sum("asked") / count} times: ${sum("answered")} answers | |`;
}

/** Puts it between the marks of the page. */
function writeTable(rows) {
  const page = readFileSync(PAGE, "utf8");
  writeFileSync(
    PAGE,
    page.replace(/(<!-- results:page -->\n)[\s\S]*?(<!-- end -->)/, `$1${table(rows)}\n$2`),
  );
}
