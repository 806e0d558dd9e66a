/**
 * How good the rules of `cardea scan` are: `npm run scan:quality -- FOLDER [--list] [--half tune|held-out]` prints recall and the share
 * of clean definitions that are flagged, for each rule and in all. FOLDER has the corpora as files of JSON, which are not part of this
 * repository:
 *
 * - `specs/065-evaluation-foundation/datasets/*.json` of github.com/smart-mcp-proxy/mcpproxy-go: labelled `entries`
 * - `servers/NAME/tools.json` of github.com/docker/mcp-registry, each as `docker/SERVER.json`: clean
 * - `techniques/SAFE-T1001/test-logs.json` and `SAFE-T1008/test-logs.json` of github.com/SAFE-MCP/safe-mcp: malicious, but `legitimate_tools`
 *
 * A clean file is of one half by the hash of its name; rules were tuned on `tune` and on mcpproxy's entries.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "./build.mjs";

const [folder, ...flags] = process.argv.slice(2);
if (folder === undefined) {
  console.error(
    "usage: npm run scan:quality -- FOLDER [--list] [--half tune|held-out]; scripts/scan-quality.mjs says what is in FOLDER",
  );
  process.exit(2);
}
const half = flags[flags.indexOf("--half") + 1 || flags.length];
if (process.env.SCAN_BUILT === undefined) build({ installed: true });
const { findingsIn } = await import("../build/features/scan/scan.js");
const { RULES, SEVERITIES } = await import("../build/features/scan/finding.js");

/** Runs a generator to its end. */
function done(steps) {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

const halfOf = (name) => (createHash("sha256").update(name).digest()[0] % 2 === 0 ? "tune" : "held-out");

/** The cases of a file: definitions that are scanned together, of which the first is labelled. */
function casesOf(file, path) {
  const name = basename(file, ".json");
  const json = jsonOf(readFileSync(path, "utf8"));
  if (Array.isArray(json.entries)) return json.entries.map((entry) => fromEntry(entry, name));
  if (Array.isArray(json.tools)) return fromServers(json.tools, name);
  if (!Array.isArray(json))
    return Object.entries(json).flatMap(([group, logs]) => fromLogs(logs, name, group));
  if (json.some((tool) => tool?.tool_description !== undefined)) return fromLogs(json, name, "malicious");
  const definitions = json.map((tool) => definition(name, tool));
  return definitions.map((own) => ({
    corpus: `docker (${halfOf(name)})`,
    half: halfOf(name),
    label: "clean",
    category: name,
    own,
    beside: definitions,
  }));
}

/** A document, or a document in each line. */
function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => JSON.parse(line));
  }
}

const definition = (server, item) => ({ server, kind: "tools", name: item.name ?? "tool", item });

function fromEntry(entry, corpus) {
  const own = definition(
    entry.server ?? "server",
    entry.tool ?? { name: "tool", description: entry.description },
  );
  const peers = (entry.peers ?? []).map(({ server, tool }) => definition(server, tool));
  const label = entry.label === "malicious" ? "malicious" : "clean";
  return {
    corpus,
    half: "tune",
    label,
    category: `${entry.category} ${entry.id}`,
    own,
    beside: [own, ...peers],
  };
}

function fromServers(tools, corpus) {
  const all = tools.map(({ server, tool, description, schema }) =>
    definition(server, { name: tool, description, inputSchema: schema }),
  );
  return all.map((own) => ({
    corpus,
    half: "held-out",
    label: "clean",
    category: own.server,
    own,
    beside: all,
  }));
}

function fromLogs(logs, corpus, group) {
  return logs.map((log) => {
    const { tool_name: name, tool_description: description, parameters } = log;
    const own = definition(log.server_name ?? "server", {
      name,
      description,
      ...(parameters && {
        inputSchema: {
          type: "object",
          properties: Object.fromEntries(
            Object.entries(parameters).map(([key, value]) => [
              key,
              typeof value === "string" ? { type: value } : value,
            ]),
          ),
        },
      }),
    });
    return {
      corpus: `safe-mcp ${corpus}`,
      half: "tune",
      label: group === "legitimate_tools" ? "clean" : "malicious",
      category: group,
      own,
      beside: [own],
    };
  });
}

const cases = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".json"))
  .toSorted()
  .flatMap((file) => casesOf(file, join(folder, file)))
  .filter((each) => half === undefined || each.half === half);

const found = cases.map((each) => ({
  ...each,
  findings: done(findingsIn(each.beside)).filter(
    ({ server, name }) => server === each.own.server && name === each.own.name,
  ),
}));
const worst = ({ findings }) => Math.max(-1, ...findings.map(({ severity }) => SEVERITIES.indexOf(severity)));
const percent = (part, all) => (all === 0 ? "-" : `${((100 * part) / all).toFixed(1)} %`);

console.log("corpus                         malicious  recall>=medium  high    clean  flagged>=medium  high");
for (const corpus of [...new Set(found.map((each) => each.corpus)), "(tune)", "(held-out)"]) {
  const own = found.filter((each) => each.corpus === corpus || `(${each.half})` === corpus);
  const bad = own.filter(({ label }) => label === "malicious");
  const good = own.filter(({ label }) => label === "clean");
  const count = (list, least) => list.filter((each) => worst(each) >= least).length;
  const row = [
    bad.length,
    percent(count(bad, 1), bad.length),
    percent(count(bad, 2), bad.length),
    good.length,
    percent(count(good, 1), good.length),
    `${count(good, 2)}`,
  ];
  console.log(corpus.padEnd(30), row.map((cell) => String(cell).padStart(11)).join(""));
}
console.log("\nrule                      malicious flagged  clean flagged (medium or higher)");
for (const rule of Object.keys(RULES)) {
  const count = (label) =>
    found.filter(
      (each) =>
        each.label === label && each.findings.some((one) => one.rule === rule && one.severity !== "low"),
    ).length;
  const all = (label) => found.filter((each) => each.label === label).length;
  console.log(
    rule.padEnd(26),
    `${count("malicious")}`.padStart(9),
    percent(count("malicious"), all("malicious")).padStart(8),
    `${count("clean")}`.padStart(8),
    percent(count("clean"), all("clean")).padStart(8),
  );
}
if (flags.includes("--list")) {
  for (const each of found.filter((one) => (one.label === "malicious") !== worst(one) >= 1)) {
    console.log(
      `\n${each.label === "malicious" ? "MISSED" : "FALSE"} ${each.corpus} ${each.category} ${each.own.name}`,
    );
    if (each.label === "malicious") console.log(`  ${JSON.stringify(each.own.item).slice(0, 400)}`);
    for (const { rule, severity, pointer, excerpt } of each.findings)
      console.log(`  ${severity} ${rule} ${pointer}: ${excerpt}`);
  }
}
