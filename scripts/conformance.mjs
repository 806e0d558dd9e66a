/**
 * `npm run conformance`: runs the official suite against the built gateway in every pair of eras, direct
 * beside through, and writes docs/conformance.md. Exits with 1 when a check fails that is not excused in
 * test/conformance/baseline.yml, or when an excuse is no longer needed.
 *
 *   npm run conformance [-- --only server|client|skills|auth] [--pair legacy-modern] [--keep-report]
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { AUTH_REVISIONS, authScenarios, NOT_RUN, runAuth } from "../test/conformance/auth-scenarios.mjs";
import { report } from "../test/conformance/report.mjs";
import { startFixture, startGateway, startSkills } from "../test/conformance/stage.mjs";
import {
  installSuite,
  runClientScenario,
  runServerSuite,
  runSkillsSuite,
  SKILLS,
  SUITE,
  scenariosOf,
} from "../test/conformance/suite.mjs";
import { evaluate, tally } from "../test/conformance/verdict.mjs";
import { build } from "./build.mjs";
import { root } from "./install.mjs";

const REVISION = { legacy: "2025-11-25", modern: "2026-07-28" };
const PAIRS = [
  { host: "legacy", upstream: "legacy" },
  { host: "legacy", upstream: "modern" },
  { host: "modern", upstream: "modern" },
  { host: "modern", upstream: "legacy" },
  // Of both eras, found out by the gateway; as a client the suite is of one.
  { host: "legacy", upstream: "both" },
  { host: "modern", upstream: "both" },
];
const out = `${root}.cache/conformance/out`;

const { values: flags } = parseArgs({
  options: {
    only: { type: "string" },
    pair: { type: "string" },
    "keep-report": { type: "boolean", default: false },
  },
});
const wantedPairs = PAIRS.filter(({ host, upstream }) =>
  [undefined, `${host}-${upstream}`].includes(flags.pair),
);
const baseline = parse(readFileSync(`${root}test/conformance/baseline.yml`, "utf8")) ?? {};
const excusesFor = (leg, { host, upstream }) =>
  (baseline[leg]?.[`${host} host, ${upstream} upstream`] ?? []).flatMap(({ checks, reason }) =>
    checks.flat().map((check) => ({ check, reason })),
  );

/** The direct run of each era is made once and held against both pairs it belongs to. */
const once = (make) => {
  const made = new Map();
  return (key) => {
    if (!made.has(key)) made.set(key, make(key));
    return made.get(key);
  };
};

const directServer = once(async (era) => {
  const fixture = await startFixture(era);
  try {
    return await runServerSuite(fixture.url, REVISION[era], `${out}/server/direct-${era}`);
  } finally {
    await fixture.stop();
  }
});

async function throughServer({ host, upstream }) {
  const fixture = await startFixture(upstream);
  const gateway = await startGateway(
    { url: fixture.url, protocol: upstream === "both" ? "auto" : upstream },
    { others: true },
  );
  try {
    return await runServerSuite(gateway.url, REVISION[host], `${out}/server/${host}-${upstream}`);
  } finally {
    await gateway.stop();
    await fixture.stop();
  }
}

const directSkills = once(async (era) => {
  const server = await startSkills(era);
  try {
    return await runSkillsSuite(server.url, REVISION[era], `${out}/skills/direct-${era}`);
  } finally {
    await server.stop();
  }
});

async function throughSkills({ host, upstream }) {
  const server = await startSkills(upstream);
  const protocol = upstream === "both" ? "auto" : upstream;
  const gateway = await startGateway({ url: server.url, protocol }, { others: true });
  try {
    return await runSkillsSuite(gateway.url, REVISION[host], `${out}/skills/${host}-${upstream}`);
  } finally {
    await gateway.stop();
    await server.stop();
  }
}

const named = (names) => names.map((name) => ({ name, scored: false }));

const clientScenarios = (upstream) =>
  scenariosOf(REVISION[upstream], "client").filter(({ name }) => !name.startsWith("auth/"));

async function clientRun(upstream, folder, driverFlags, scenarios = clientScenarios(upstream)) {
  const command = `${process.execPath} ${root}test/conformance/driver.mjs ${driverFlags}`;
  const results = new Map();
  for (const { name } of scenarios) {
    const run = await runClientScenario(name, REVISION[upstream], command, `${out}/client/${folder}/${name}`);
    results.set(name, run.get(name) ?? new Map());
  }
  return results;
}
const directClient = once((era) => clientRun(era, `direct-${era}`, `--direct --host ${era}`));
const throughClient = ({ host, upstream }) => clientRun(upstream, `${host}-${upstream}`, `--host ${host}`);
const skillsOfClient = named(SKILLS.client);
const directSkillsClient = once((era) =>
  clientRun(era, `skills-direct-${era}`, `--direct --host ${era}`, skillsOfClient),
);
const throughSkillsClient = ({ host, upstream }) =>
  clientRun(upstream, `skills-${host}-${upstream}`, `--host ${host}`, skillsOfClient);

/** One column of the report: a pair and its verdicts. */
async function column(leg, pair, scenarios, direct, through, excuses = excusesFor(leg, pair)) {
  const runs = { direct: await direct, through: await through };
  const names = scenarios.map((scenario) => scenario.name);
  const { evaluated, stale } = evaluate(runs, names, excuses);
  const revision = REVISION[leg === "server" ? pair.host : pair.upstream];
  const name = `${leg}: ${pair.host} host, ${pair.upstream} upstream`;
  console.error(`${name}: ${JSON.stringify(tally(evaluated))}`);
  for (const { scenario, check, status } of evaluated.filter(({ verdict }) => verdict === "failed")) {
    console.error(`  unexpected ${status}: ${scenario}:${check}`);
  }
  for (const check of stale) console.error(`  excused in the baseline, and yet it passes: ${check}`);
  const alone = evaluate({ direct: runs.direct, through: runs.direct }, names, []);
  return { ...pair, revision, scenarios, evaluated, stale, direct: alone.evaluated };
}

/** The gateway is the client: there is no run without it. */
async function authColumn(revision) {
  const scenarios = authScenarios(revision);
  const names = scenarios.map(({ name }) => name);
  const through = await runAuth(revision, `${out}/auth/${revision}`);
  const excuses = (baseline.auth?.[revision] ?? []).flatMap(({ checks, reason }) =>
    checks.map((check) => ({ check, reason })),
  );
  const { evaluated, stale } = evaluate({ direct: new Map(), through }, names, excuses);
  console.error(`auth: ${revision}: ${JSON.stringify(tally(evaluated))}`);
  for (const { scenario, check, status } of evaluated.filter(({ verdict }) => verdict === "failed")) {
    console.error(`  unexpected ${status}: ${scenario}:${check}`);
  }
  for (const check of stale) console.error(`  excused in the baseline, and yet it passes: ${check}`);
  return { revision, scenarios, evaluated, stale };
}

installSuite();
if (process.env.CARDEA_TEST_MAIN === undefined) build();
const server = [];
const client = [];
const auth = [];
if (flags.only === undefined || flags.only === "auth") {
  for (const revision of AUTH_REVISIONS) auth.push(await authColumn(revision));
}
if (flags.only === undefined || flags.only === "server") {
  for (const pair of wantedPairs) {
    const scenarios = scenariosOf(REVISION[pair.host], "server");
    server.push(await column("server", pair, scenarios, directServer(pair.host), throughServer(pair)));
  }
}
if (flags.only === undefined || flags.only === "client") {
  for (const pair of wantedPairs.filter(({ upstream }) => upstream !== "both")) {
    const scenarios = clientScenarios(pair.upstream);
    client.push(await column("client", pair, scenarios, directClient(pair.upstream), throughClient(pair)));
  }
}
const skills = { server: [], client: [] };
if (flags.only === undefined || flags.only === "skills") {
  for (const pair of wantedPairs) {
    const runs = [directSkills(pair.host), throughSkills(pair)];
    skills.server.push(await column("server", pair, named(SKILLS.server), ...runs, []));
    if (pair.upstream === "both") continue;
    const clientRuns = [directSkillsClient(pair.upstream), throughSkillsClient(pair)];
    skills.client.push(await column("client", pair, skillsOfClient, ...clientRuns, []));
  }
}

const whole = flags.only === undefined && flags.pair === undefined;
if (whole && !flags["keep-report"]) {
  const versionIn = (path) => JSON.parse(readFileSync(`${root}${path}package.json`, "utf8")).version;
  const versions = {
    Cardea: versionIn(""),
    suite: SUITE,
    fixture: `@modelcontextprotocol/server@${versionIn("node_modules/@modelcontextprotocol/server/")}`,
    hosts: `@modelcontextprotocol/client@${versionIn("node_modules/@modelcontextprotocol/client/")}`,
    Node: process.version,
    date: new Date().toISOString().slice(0, 10),
  };
  writeFileSync(
    `${root}docs/conformance.md`,
    report({ versions, server, client, skills, auth, notRun: NOT_RUN }),
  );
}
const bad = [...server, ...client, ...skills.server, ...skills.client, ...auth].some(
  ({ evaluated, stale }) => stale.length > 0 || evaluated.some(({ verdict }) => verdict === "failed"),
);
process.exit(bad ? 1 : 0);
