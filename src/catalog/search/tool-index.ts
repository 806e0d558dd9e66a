/** Which tools of a list fit a query best? One index for a list, and a view of it for each set of visible tools. */
import type { Postings } from "./postings.js";
import { type Concept, conceptsOf } from "./query.js";
import type { SearchableTool } from "./tool-text.js";

/** What is searched for. */
export interface SearchOptions {
  /** Only tools of the server of this name. */
  readonly server?: string;
  /** The number of hits, at most. */
  readonly limit: number;
}

/** A tool that was found. */
interface Hit {
  /** The index of the tool in the list that was indexed. */
  readonly entry: number;
  /** Comparable within one result only. Not for clients. */
  readonly score: number;
  /** Whether the query is the name of this tool. */
  readonly isNamed: boolean;
}

/** What was found. */
export interface SearchResult {
  /** The best ones first; equally good ones in the order of the list. */
  readonly hits: readonly Hit[];
  /** The number of visible tools that fit the query at all. */
  readonly total: number;
}

/** The index of a list, in which each client sees its own part. */
export class ToolIndex {
  /** The view of a client that sees the whole list. */
  readonly all: ToolView;
  /** The scores of entries during a search, which is synchronous; all 0 between two searches. */
  readonly scores: Float64Array;
  /** The same of one concept. */
  readonly conceptScores: Float64Array;
  readonly #byName = new Map<string, number[]>();

  constructor(
    readonly tools: readonly SearchableTool[],
    readonly postings: Postings,
  ) {
    this.scores = new Float64Array(tools.length);
    this.conceptScores = new Float64Array(tools.length);
    for (const [entry, { name }] of tools.entries()) {
      const folded = name.toLowerCase();
      this.#byName.set(folded, [...(this.#byName.get(folded) ?? []), entry]);
    }
    this.all = new ToolView(this, undefined);
  }

  /** The part of the list that `isVisible` lets through; make it once for each set of visible tools. */
  viewOf(isVisible: (entry: number) => boolean): ToolView {
    return new ToolView(this, isVisible);
  }

  /** The entries of this name in any case, those of exactly this name first. */
  named(name: string): readonly number[] {
    const entries = this.#byName.get(name.toLowerCase()) ?? [];
    const isExact = (entry: number): boolean => this.tools[entry]?.name === name;
    return [...entries.filter(isExact), ...entries.filter((entry) => !isExact(entry))];
  }
}

/**
 * The part of an index that a client sees. Everything that decides about its results is counted over that part alone:
 * a result is what an index of the visible tools only would give, so it says nothing about other tools.
 */
export class ToolView {
  readonly #index: ToolIndex;
  /** 1 for each visible entry; undefined where all are. */
  readonly #visible: Uint8Array | undefined;
  /** The number of visible tools. */
  readonly size: number;

  constructor(index: ToolIndex, isVisible: ((entry: number) => boolean) | undefined) {
    this.#index = index;
    this.#visible = isVisible && Uint8Array.from(index.tools, (_, entry) => (isVisible(entry) ? 1 : 0));
    this.size = this.#visible?.reduce((count, one) => count + one, 0) ?? index.tools.length;
  }

  /** Finds the tools that fit `query`, in any language; a query without a known word finds nothing. */
  search(query: string, { server, limit }: SearchOptions): SearchResult {
    const { tools, scores } = this.#index;
    const passes = (entry: number): boolean => server === undefined || tools[entry]?.server.name === server;
    const named = this.#index.named(query.trim()).find((entry) => this.#isVisible(entry) && passes(entry));
    const best: Hit[] = [];
    let total = 0;
    for (const entry of this.#score(conceptsOf(query))) {
      const score = scores[entry] ?? 0;
      scores[entry] = 0;
      if (entry === named || !passes(entry)) continue;
      total += 1;
      insert(best, { entry, score, isNamed: false }, limit);
    }
    if (named === undefined) return { hits: best, total };
    const hit: Hit = { entry: named, score: Number.POSITIVE_INFINITY, isNamed: true };
    return { hits: [hit, ...best].slice(0, limit), total: total + 1 };
  }

  #isVisible(entry: number): boolean {
    return this.#visible === undefined || this.#visible[entry] === 1;
  }

  /** Adds up the scores of all visible entries that have a term; returns those entries. */
  #score(concepts: readonly Concept[]): readonly number[] {
    const { scores, conceptScores } = this.#index;
    const touched: number[] = [];
    for (const concept of concepts) {
      const inConcept: number[] = [];
      for (const { term, weight } of concept) this.#take(term, weight, inConcept);
      for (const entry of inConcept) {
        if (scores[entry] === 0) touched.push(entry);
        scores[entry] = (scores[entry] ?? 0) + (conceptScores[entry] ?? 0);
        conceptScores[entry] = 0;
      }
    }
    return touched;
  }

  /** Notes for each visible entry that has the term how much that counts, where it counts more than another one did. */
  #take(term: string, weight: number, inConcept: number[]): void {
    const { postings, conceptScores } = this.#index;
    const { entries, weights } = postings;
    const [start, end] = postings.rangeOf(term);
    const visible = this.#visible;
    let having = end - start;
    if (visible !== undefined) {
      having = 0;
      for (let at = start; at < end; at++) having += visible[entries[at] ?? 0] ?? 0;
    }
    if (having === 0) return;
    const value = weight * rarity(having, this.size);
    for (let at = start; at < end; at++) {
      const entry = entries[at] ?? 0;
      if (visible !== undefined && visible[entry] === 0) continue;
      const score = value * (weights[at] ?? 0);
      const known = conceptScores[entry] ?? 0;
      if (known === 0) inConcept.push(entry);
      if (score > known) conceptScores[entry] = score;
    }
  }
}

/** How much a term tells (BM25): much where few of the tools have it, and always more than nothing. */
const rarity = (having: number, all: number): number => Math.log(1 + (all - having + 0.5) / (having + 0.5));

/** Puts a hit where it belongs among the best ones. */
function insert(best: Hit[], hit: Hit, limit: number): void {
  const worst = best[limit - 1];
  if (worst !== undefined && !isBetter(hit, worst)) return;
  let at = Math.min(best.length, limit);
  if (at === limit) at -= 1;
  for (; at > 0; at--) {
    const before = best[at - 1];
    if (before === undefined || !isBetter(hit, before)) break;
    best[at] = before;
  }
  if (limit > 0) best[at] = hit;
}

const isBetter = (one: Hit, other: Hit): boolean =>
  one.score > other.score || (one.score === other.score && one.entry < other.entry);
