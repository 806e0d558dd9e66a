/**
 * `npm run search:quality [-- DIR]`: how often the search finds the right tools, on four public sets. DIR, or
 * CARDEA_SEARCH_SETS, holds clones of their repositories; the sets themselves are never part of this repository.
 * `--misses SET` also prints the queries of a set whose tools are not among the first five.
 */
import { existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { build } from "./build.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { misses: { type: "string" }, "no-build": { type: "boolean" } },
});
const folder = positionals[0] ?? process.env.CARDEA_SEARCH_SETS;

const BFCL = "berkeley-function-call-leaderboard/bfcl_eval/data";
const SETS = [
  { name: "MetaTool", goal: 70, repository: "HowieHwong/MetaTool", read: readMetaTool },
  { name: "mcpproxy golden", goal: 88, repository: "smart-mcp-proxy/mcpproxy-go", read: readGolden },
  { name: "Seal dev", goal: 92, repository: "fairyshine/Seal-Tools", read: (path) => readSeal(path, "dev") },
  {
    name: "Seal test, in domain",
    repository: "fairyshine/Seal-Tools",
    read: (path) => readSeal(path, "test_in_domain"),
  },
  {
    name: "Seal test, out of domain",
    repository: "fairyshine/Seal-Tools",
    read: (path) => readSeal(path, "test_out_domain"),
  },
  {
    name: "BFCL multiple",
    goal: 70,
    repository: "ShishirPatil/gorilla",
    read: (path) => readBfcl(path, "multiple"),
  },
  {
    name: "BFCL live multiple",
    repository: "ShishirPatil/gorilla",
    read: (path) => readBfcl(path, "live_multiple"),
  },
  {
    name: "BFCL parallel multiple",
    repository: "ShishirPatil/gorilla",
    read: (path) => readBfcl(path, "parallel_multiple"),
  },
];

if (folder === undefined) {
  console.error(howToFetch("No folder with the sets was given."));
  process.exit(2);
}
if (!values["no-build"]) build();
const { buildToolIndex } = await import("../dist/catalog/search/build-index.js");
const LIMIT = 10;

const rows = [];
for (const set of SETS) {
  const path = `${folder}/${set.repository.split("/")[1]}`;
  if (!existsSync(path)) {
    console.error(howToFetch(`${set.name}: there is no ${path}.`));
    process.exit(2);
  }
  rows.push(await measure(set, set.read(path)));
}
print(rows);
if (rows.some(({ goal, at5 }) => goal !== undefined && at5 < goal)) process.exitCode = 1;

async function measure({ name, goal }, { tools, queries }) {
  const index = await buildToolIndex(tools);
  const sums = { at1: 0, at5: 0, mrr: 0, even: 0, odd: 0 };
  const counts = { even: 0, odd: 0 };
  for (const { query, needed } of queries) {
    const found = index.all.search(query, { limit: LIMIT }).hits.map(({ entry }) => tools[entry].name);
    const share = (count) =>
      needed.filter((one) => found.slice(0, count).includes(one)).length / needed.length;
    const first = found.findIndex((one) => needed.includes(one));
    const half = isHeldOut(query) ? "odd" : "even";
    sums.at1 += found[0] !== undefined && needed.includes(found[0]) ? 1 : 0;
    sums.at5 += share(5);
    sums.mrr += first < 0 ? 0 : 1 / (first + 1);
    sums[half] += share(5);
    counts[half] += 1;
    if (values.misses === name && share(5) < 1)
      console.log(`${query}\n    needed ${needed.join(", ")}\n    found  ${found.slice(0, 5).join(", ")}`);
  }
  const percent = (sum, count = queries.length) => (100 * sum) / count;
  return {
    ...{ name, goal, tools: tools.length, queries: queries.length },
    ...{ at1: percent(sums.at1), at5: percent(sums.at5), mrr: percent(sums.mrr) },
    ...{ even: percent(sums.even, counts.even), odd: percent(sums.odd, counts.odd) },
  };
}

/** Half of the queries of each set were never looked at while the search was tuned. */
function isHeldOut(query) {
  let hash = 0;
  for (const character of query) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
  return hash % 2 === 1;
}

function print(lines) {
  const figure = (value) => value.toFixed(1).padStart(9);
  console.log(
    `${"set".padEnd(26)}${["tools", "queries", "recall@1", "recall@5", "MRR", "tuned", "held out", "goal"].map((one) => one.padStart(9)).join("")}`,
  );
  for (const { name, goal, tools, queries, at1, at5, mrr, even, odd } of lines) {
    const figures = [at1, at5, mrr, even, odd].map(figure).join("");
    const count = (value) => String(value).padStart(9);
    console.log(`${name.padEnd(26)}${count(tools)}${count(queries)}${figures}${count(goal ?? "")}`);
  }
}

function howToFetch(problem) {
  const repositories = [...new Set(SETS.map(({ repository }) => repository))];
  return [
    problem,
    "Fetch the sets once, about 1 GB with all else in their repositories:",
    "  mkdir sets && cd sets",
    ...repositories.map((one) => `  git clone --depth 1 https://github.com/${one}`),
    "Then: npm run search:quality -- sets",
  ].join("\n");
}

function readMetaTool(path) {
  const described = JSON.parse(readFileSync(`${path}/dataset/plugin_des.json`, "utf8"));
  const rows = readFileSync(`${path}/dataset/data/all_clean_data.csv`, "utf8").trim().split(/\r?\n/).slice(1);
  return {
    tools: Object.entries(described).map(([name, description]) => toolOf("", name, description, {})),
    queries: rows.map((row) => {
      const comma = row.lastIndexOf(",");
      const query = row.slice(0, comma).replace(/^"|"$/g, "").replaceAll('""', '"');
      return { query, needed: [row.slice(comma + 1)] };
    }),
  };
}

/** Needed is what the set marks as the best answer (relevance 2). */
function readGolden(path) {
  const corpus = `${path}/specs/083-discovery-profiler/datasets/corpus_v2.tools.json`;
  const golden = `${path}/specs/065-evaluation-foundation/datasets/retrieval_golden_v1.json`;
  return {
    tools: readJson(corpus).tools.map(({ server, tool, description, schema }) =>
      toolOf(server, `${server}__${tool}`, description, schema),
    ),
    queries: readJson(golden).queries.map(({ query, labels }) => ({
      query,
      needed: labels
        .filter(({ relevance }) => relevance > 0)
        .map(({ tool_id }) => tool_id.replace(":", "__")),
    })),
  };
}

function readSeal(path, part) {
  const lines = (file) => readLines(`${path}/Seal-Tools_Dataset/${file}.jsonl`);
  return {
    tools: lines("tool").map(({ api_name, api_description, parameters }) =>
      toolOf("", api_name, api_description, { type: "object", properties: parameters }),
    ),
    queries: lines(part).map(({ query, calling }) => ({
      query,
      needed: [...new Set(calling.map(({ api }) => api))],
    })),
  };
}

/** The tools are the functions of all questions together. */
function readBfcl(path, part) {
  const questions = readLines(`${path}/${BFCL}/BFCL_v4_${part}.json`);
  const answers = readLines(`${path}/${BFCL}/possible_answer/BFCL_v4_${part}.json`);
  const truth = new Map(answers.map(({ id, ground_truth }) => [id, ground_truth.flatMap(Object.keys)]));
  const tools = new Map();
  for (const { name, description, parameters } of questions.flatMap((one) => one.function))
    if (!tools.has(name)) tools.set(name, toolOf("", name, description, parameters));
  return {
    tools: [...tools.values()],
    queries: questions.map(({ id, question }) => ({
      query: question
        .flat()
        .filter(({ role }) => role === "user")
        .map(({ content }) => content)
        .join(" "),
      needed: [...new Set(truth.get(id))],
    })),
  };
}

function toolOf(server, name, description, inputSchema) {
  return { name, server: { name: server }, tool: { name, description, inputSchema } };
}

function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}

function readLines(file) {
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
