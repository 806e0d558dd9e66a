/**
 * The public sets of tools and queries with which the search is measured (scripts/search-quality.mjs, bench/search.mjs).
 * They are read from clones of their repositories and never part of this one.
 */
import { existsSync, readFileSync } from "node:fs";

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

/**
 * The sets, each with `read()`, which gives `tools`, as they are indexed, and `queries`, each with the names of the tools
 * that it needs. `folder` holds the clones; throws with how to make them where one is missing.
 */
export function searchSets(folder) {
  if (folder === undefined) throw new MissingSets("No folder with the sets was given.");
  return SETS.map(({ name, goal, repository, read }) => {
    const path = `${folder}/${repository.split("/")[1]}`;
    if (!existsSync(path)) throw new MissingSets(`${name}: there is no ${path}.`);
    return { name, goal, read: () => read(path) };
  });
}

export class MissingSets extends Error {
  constructor(problem) {
    super(howToFetch(problem));
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
