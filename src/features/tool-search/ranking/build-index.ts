/** Builds the search index of a tool list without blocking other calls: in steps of 1 to 5 ms. */
import { runSteps, type Steps } from "../../../runtime/cooperative-yield.js";
import { PostingsBuilder } from "./postings.js";
import { stemSynonyms } from "./synonyms.js";
import type { Stems } from "./terms.js";
import { ToolIndex } from "./tool-index.js";
import { FIELDS, fieldTerms, type SearchableTool } from "./tool-text.js";

/** Options of a build. */
export interface BuildOptions {
  /** Cancels the build: its list is outdated. */
  readonly signal?: AbortSignal;
}

/** Term frequency saturation. */
const K1 = 1.2;
/** The work per step: indexed terms, or sorted postings. */
const TERMS_IN_STEP = 2_000;
const POSTINGS_IN_STEP = 65_536;

/**
 * Builds the index of a list. The same list yields the same index in every process; `entry` in its results is the index
 * in `tools`. Rejects with the reason of `signal` if that is aborted.
 */
export function buildToolIndex(
  tools: readonly SearchableTool[],
  { signal }: BuildOptions = {},
): Promise<ToolIndex> {
  return runSteps(building(tools, signal));
}

function* building(tools: readonly SearchableTool[], signal: AbortSignal | undefined): Steps<ToolIndex> {
  const stems: Stems = new Map();
  const synonyms = yield* abortable(stemSynonyms(stems), signal);
  const postings = new PostingsBuilder();
  const byName = new Map<string, number[]>();
  let work = 0;
  for (const [entry, tool] of tools.entries()) {
    if (work > TERMS_IN_STEP) {
      yield;
      signal?.throwIfAborted();
      work = 0;
    }
    const name = tool.name.toLowerCase();
    const sameName = byName.get(name);
    if (sameName === undefined) byName.set(name, [entry]);
    else sameName.push(entry);
    const fields = fieldTerms(tool, stems);
    for (const [term, frequency] of weightedFrequencies(fields)) {
      postings.add(term, entry, frequency / (K1 + frequency));
    }
    work += 20;
    for (const terms of fields) work += terms.length;
  }
  const sorted = yield* abortable(postings.sorted(POSTINGS_IN_STEP), signal);
  return new ToolIndex(tools, sorted, byName, synonyms);
}

function* abortable<Value>(steps: Steps<Value>, signal: AbortSignal | undefined): Steps<Value> {
  let step = steps.next();
  while (step.done !== true) {
    yield;
    signal?.throwIfAborted();
    step = steps.next();
  }
  return step.value;
}

/** Term frequencies, weighted by field and normalised by length (BM25F). */
function weightedFrequencies(fields: readonly (readonly string[])[]): ReadonlyMap<string, number> {
  const frequencies = new Map<string, number>();
  for (const [at, terms] of fields.entries()) {
    const field = FIELDS[at];
    if (field === undefined) continue;
    const one = field.weight / (1 - field.b + (field.b * terms.length) / field.length);
    for (const term of terms) frequencies.set(term, (frequencies.get(term) ?? 0) + one);
  }
  return frequencies;
}
