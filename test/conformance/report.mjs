/** docs/conformance.md: what passes directly, what passes through the gateway, and why the rest does not. */
import { tally } from "./verdict.mjs";

const sum = (counts) =>
  `${counts.passed} of ${counts.passed + counts.failed + counts.excused + counts["as direct"]}`;

/**
 * @typedef {object} Column one run through the gateway, with the direct one it is held against
 * @property {string} host
 * @property {string} upstream
 * @property {string} revision what the host side speaks
 * @property {readonly { name: string, scored: boolean }[]} scenarios
 * @property {readonly import("./verdict.mjs").Evaluated[]} evaluated
 * @property {readonly import("./verdict.mjs").Evaluated[]} direct
 */

/**
 * @typedef {object} AuthColumn the scenarios of authorization for servers of one revision, with the gateway as the client
 * @property {string} revision
 * @property {readonly { name: string, scored: boolean }[]} scenarios
 * @property {readonly import("./verdict.mjs").Evaluated[]} evaluated
 */

/**
 * @typedef {object} Run
 * @property {Record<string, string>} versions
 * @property {readonly Column[]} server
 * @property {readonly Column[]} client
 * @property {{ server: readonly Column[], client: readonly Column[] }} skills
 * @property {readonly AuthColumn[]} auth
 * @property {ReadonlyMap<string, string>} notRun scenarios of authorization that are left out, and why
 *
 * @param {Run} run
 * @returns {string} the page
 */
export function report({ versions, server, client, skills, auth, notRun }) {
  return [
    "# Conformance",
    "",
    "Written by `npm run conformance`; do not edit. The official suite is run against a fixture server directly,",
    "and then through Cardea: with the fixture under its own names, two more real servers beside it under",
    "prefixes, and every pair of a legacy (2025-11-25) or modern (2026-07-28) host and upstream. A check that a",
    "scenario makes several times counts once, by its worst outcome; one that passes directly and is only skipped",
    "or noted through Cardea counts as not passed.",
    "",
    ...Object.entries(versions).map(([name, version]) => `- ${name}: ${version}`),
    "",
    "## Hosts that connect to Cardea",
    "",
    ...overview(server),
    "",
    ...details(server),
    "## Servers that Cardea connects to",
    "",
    "The suite plays the server; a host made of the SDK calls it, directly and through Cardea.",
    "",
    ...overview(client),
    "",
    ...details(client),
    ...skillsOf(skills),
    ...authorization(auth, notRun),
    "## What does not pass through Cardea, and why",
    "",
    ...exceptions([...server, ...client, ...skills.server, ...skills.client, ...auth]),
    "",
    "Checks marked ° fail without Cardea too: the fixture, or the SDK's client, does not do what they ask.",
    "",
  ].join("\n");
}

const nameOf = ({ host, upstream, revision }) =>
  host === undefined ? `authorization, ${revision}` : `${host} host, ${upstream} upstream`;

/** The extension belongs to no revision: its scenarios are apart, with a server that has skills. */
const skillsOf = ({ server, client }) => [
  "## Skills (SEP-2640)",
  "",
  "Scenarios of the extension `io.modelcontextprotocol/skills`. As a server Cardea has one with a skill behind it. As a client the",
  "suite is the server; the host of the SDK lists and loads its skill, and verifies what it reads: that no skill is read before a host",
  "does, and that files, digests and frontmatter arrive unchanged, is Cardea's part.",
  "",
  ...details(server),
  ...details(client),
];

/** The gateway is the client, so there is nothing to hold against. */
function authorization(columns, notRun) {
  const count = ({ scenarios, evaluated }, scored) => {
    const names = new Set(scenarios.filter((one) => one.scored === scored).map(({ name }) => name));
    return names.size === 0 ? "none" : sum(tally(evaluated.filter(({ scenario }) => names.has(scenario))));
  };
  const names = [...new Set(columns.flatMap(({ scenarios }) => scenarios.map(({ name }) => name)))];
  const cell = ({ scenarios, evaluated }, name) => {
    if (!scenarios.some((scenario) => scenario.name === name)) return "";
    const counts = tally(evaluated, name);
    return sum(counts) + (counts.failed > 0 ? " ✗" : counts.excused > 0 ? " *" : "");
  };
  return [
    "## Servers that want a sign-in",
    "",
    "The suite plays the server and its authorization server, Cardea is the client. A host calls a tool; a person without a",
    "browser follows each page that the call names, and the host calls again. The server entry is a `url` alone; where a scenario",
    "gives credentials or a document of the client, `auth` has them.",
    "",
    "| revision of the server | scored checks | other checks |",
    "|---|---|---|",
    ...columns.map((column) => `| ${column.revision} | ${count(column, true)} | ${count(column, false)} |`),
    "",
    "<details><summary>Every scenario</summary>",
    "",
    `| scenario | ${columns.map(({ revision }) => revision).join(" | ")} |`,
    `|---|${"---|".repeat(columns.length)}`,
    ...names.map((name) => `| ${name} | ${columns.map((column) => cell(column, name)).join(" | ")} |`),
    "",
    "✗ fails · * excused below",
    "",
    "</details>",
    "",
    "Not run:",
    "",
    ...[...notRun].map(([name, why]) => `- ${name}: ${why}`),
    "",
  ];
}

function overview(columns) {
  const scored = ({ scenarios }) => new Set(scenarios.filter((one) => one.scored).map(({ name }) => name));
  const row = (column) => {
    const isScored = scored(column);
    const count = (evaluated, wanted) =>
      sum(tally(evaluated.filter(({ scenario }) => isScored.has(scenario) === wanted)));
    return (
      `| ${nameOf(column)} | ${column.revision} | ${count(column.direct, true)} | ${count(column.evaluated, true)} ` +
      `| ${count(column.direct, false)} | ${count(column.evaluated, false)} |`
    );
  };
  return [
    "| pair | requirements | scored checks, direct | scored checks, through | other checks, direct | other checks, through |",
    "|---|---|---|---|---|---|",
    ...columns.map(row),
  ];
}

function details(columns) {
  const names = [...new Set(columns.flatMap(({ scenarios }) => scenarios.map(({ name }) => name)))];
  const cell = (column, evaluated, name) => {
    if (!column.scenarios.some((scenario) => scenario.name === name)) return "";
    const counts = tally(evaluated, name);
    const mark = counts.failed > 0 ? " ✗" : counts.excused > 0 ? " *" : counts["as direct"] > 0 ? " °" : "";
    return counts.passed + counts.failed + counts.excused + counts["as direct"] === 0
      ? "none"
      : sum(counts) + mark;
  };
  return [
    "<details><summary>Every scenario</summary>",
    "",
    `| scenario | ${columns.map((column) => `${nameOf(column)}: direct | through`).join(" | ")} |`,
    `|---|${"---|---|".repeat(columns.length)}`,
    ...names.map(
      (name) =>
        `| ${name} | ${columns
          .map((column) => `${cell(column, column.direct, name)} | ${cell(column, column.evaluated, name)}`)
          .join(" | ")} |`,
    ),
    "",
    "✗ fails through Cardea · * excused below · ° fails directly as well",
    "",
    "</details>",
    "",
  ];
}

/** One line for each scenario of a pair and each reason in it. */
function exceptions(columns) {
  const lines = new Map();
  for (const column of columns) {
    for (const { scenario, check, verdict, reason } of column.evaluated) {
      if (verdict !== "excused" && verdict !== "failed") continue;
      const why = verdict === "failed" ? "**not excused**" : reason;
      const key = [nameOf(column), scenario, why].join("|");
      const line = lines.get(key) ?? { pair: nameOf(column), scenario, why, checks: [] };
      lines.set(key, { ...line, checks: [...line.checks, check] });
    }
  }
  if (lines.size === 0) return ["Nothing: every check that passes directly passes through Cardea."];
  return [
    "| pair | scenario | checks | reason |",
    "|---|---|---|---|",
    ...[...lines.values()].map(
      ({ pair, scenario, checks, why }) => `| ${pair} | ${scenario} | ${checks.join(", ")} | ${why} |`,
    ),
  ];
}
