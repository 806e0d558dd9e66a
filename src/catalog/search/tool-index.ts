/** Which tools of a list fit a query best? One index for a list, and a view of it for each set of visible tools. */
import type { Postings } from "./postings.js";
import { readQuery } from "./query.js";
import { Scorer, type Visible } from "./scores.js";
import type { Synonyms } from "./synonyms.js";
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
  /** The number of visible tools that fit the query, also beyond the limit. */
  readonly total: number;
}

/** The index of a list, in which each client sees its own part. */
export class ToolIndex {
  /** The view of a client that sees the whole list. */
  readonly all: ToolView;
  readonly scorer: Scorer;
  readonly #byName: ReadonlyMap<string, readonly number[]>;

  /** @param byName the entries of each name in lower case */
  constructor(
    readonly tools: readonly SearchableTool[],
    postings: Postings,
    byName: ReadonlyMap<string, readonly number[]>,
    readonly synonyms: Synonyms,
  ) {
    this.scorer = new Scorer(postings, tools.length);
    this.#byName = byName;
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
  readonly #visible: Visible;

  constructor(index: ToolIndex, isVisible: ((entry: number) => boolean) | undefined) {
    this.#index = index;
    const bits = isVisible && Uint8Array.from(index.tools, (_, entry) => (isVisible(entry) ? 1 : 0));
    this.#visible = { bits, size: bits?.reduce((count, bit) => count + bit, 0) ?? index.tools.length };
  }

  /** The number of visible tools. */
  get size(): number {
    return this.#visible.size;
  }

  /** Finds the tools that fit `query`; a query of which no tool has a word finds nothing. */
  search(query: string, { server, limit }: SearchOptions): SearchResult {
    const { tools, scorer, synonyms } = this.#index;
    const ofServer = (entry: number): boolean => server === undefined || tools[entry]?.server.name === server;
    const named = this.#index.named(query.trim()).find((entry) => this.#isVisible(entry) && ofServer(entry));
    const best: Hit[] = [];
    let total = 0;
    const searched = {
      visible: this.#visible,
      passes: (entry: number) => entry !== named && ofServer(entry),
    };
    scorer.score(readQuery(query, synonyms), searched, (entry, score) => {
      total += 1;
      const worst = best[limit - 1];
      if (worst === undefined || isBetter(entry, score, worst))
        insert(best, { entry, score, isNamed: false }, limit);
    });
    if (named === undefined) return { hits: best, total };
    const hit: Hit = { entry: named, score: Number.POSITIVE_INFINITY, isNamed: true };
    return { hits: [hit, ...best].slice(0, limit), total: total + 1 };
  }

  #isVisible(entry: number): boolean {
    return this.#visible.bits === undefined || this.#visible.bits[entry] === 1;
  }
}

/** Puts a hit where it belongs among the best ones. */
function insert(best: Hit[], hit: Hit, limit: number): void {
  if (limit === 0) return;
  let at = Math.min(best.length, limit - 1);
  for (; at > 0; at--) {
    const before = best[at - 1];
    if (before === undefined || !isBetter(hit.entry, hit.score, before)) break;
    best[at] = before;
  }
  best[at] = hit;
}

/** Of equally good ones the first in the list is better. */
const isBetter = (entry: number, score: number, other: Hit): boolean =>
  score > other.score || (score === other.score && entry < other.entry);
