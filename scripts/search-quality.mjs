/**
 * `npm run search:quality [-- DIR]`: how often the search finds the right tools, on four public sets. DIR, or
 * CARDEA_SEARCH_SETS, holds clones of their repositories; the sets themselves are never part of this repository.
 * `full list` and `answer` are estimates of o200k tokens: of all definitions, and of what one search answers.
 * `--misses SET` also prints the queries of a set whose tools are not among the first five.
 */
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { MissingSets, searchSets } from "./search-sets.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { misses: { type: "string" }, "no-build": { type: "boolean" } },
});
const folder = positionals[0] ?? process.env.CARDEA_SEARCH_SETS;

let sets;
try {
  sets = searchSets(folder);
} catch (error) {
  if (!(error instanceof MissingSets)) throw error;
  console.error(error.message);
  process.exit(2);
}
if (!values["no-build"]) build();
const { buildToolIndex } = await import("../build/features/tool-search/ranking/build-index.js");
const { estimateTokens } = await import("../build/core/token-estimate.js");
const LIMIT = 10;
/** A typical answer: definitions of the first three, a line for five others. */
const ANSWER = { whole: 3, all: 8, line: 120 };
/** Queries whose answers are counted. */
const COUNTED = 500;

const rows = [];
for (const set of sets) rows.push(await measure(set, set.read()));
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
  const full = tools.reduce((sum, { tool }) => sum + estimateTokens(JSON.stringify(tool)), 0);
  const counted = queries.slice(0, COUNTED);
  const answers = counted.reduce((sum, { query }) => sum + answerTokens(index, tools, query), 0);
  return {
    ...{ full, answer: answers / counted.length },
    ...{ name, goal, tools: tools.length, queries: queries.length },
    ...{ at1: percent(sums.at1), at5: percent(sums.at5), mrr: percent(sums.mrr) },
    ...{ even: percent(sums.even, counts.even), odd: percent(sums.odd, counts.odd) },
  };
}

/** What a model reads of an answer. */
function answerTokens(index, tools, query) {
  const shown = index.all.search(query, { limit: ANSWER.all }).hits.map(({ entry }, at) => {
    const { name, tool } = tools[entry];
    return at < ANSWER.whole ? tool : { name, description: String(tool.description).slice(0, ANSWER.line) };
  });
  return estimateTokens(JSON.stringify(shown));
}

/** Weights and synonyms were chosen by the other half of the queries. */
function isHeldOut(query) {
  let hash = 0;
  for (const character of query) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
  return hash % 2 === 1;
}

function print(lines) {
  const figure = (value) => value.toFixed(1).padStart(9);
  console.log(
    `${"set".padEnd(26)}${["tools", "queries", "recall@1", "recall@5", "MRR", "tuned", "held out", "goal", "full list", "answer"].map((one) => one.padStart(9)).join("")}`,
  );
  for (const { name, goal, tools, queries, at1, at5, mrr, even, odd, full, answer } of lines) {
    const figures = [at1, at5, mrr, even, odd].map(figure).join("");
    const count = (value) => String(value).padStart(9);
    console.log(
      `${name.padEnd(26)}${count(tools)}${count(queries)}${figures}${count(goal ?? "")}${count(full)}${count(Math.round(answer))}`,
    );
  }
}
