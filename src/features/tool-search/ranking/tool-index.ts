/** The search index of a tool list, and views of it for each set of visible tools. */
import type { Postings } from "./postings.js";
import { readQuery } from "./query.js";
import { Scorer, type Visible } from "./scores.js";
import type { Synonyms } from "./synonyms.js";
import type { SearchableTool } from "./tool-text.js";

/** A search. */
export interface SearchOptions {
  /** Only tools of the server of this name. */
  readonly server?: string;
  /** Maximum hits. */
  readonly limit: number;
}

/** A hit. */
interface Hit {
  /** The index of the tool in the indexed list. */
  readonly entry: number;
  /** Comparable within one result only. Not for clients. */
  readonly score: number;
  /** Whether the query is the name of this tool. */
  readonly isNamed: boolean;
}

/** The result of a search. */
export interface SearchResult {
  /** Best first; ties in list order. */
  readonly hits: readonly Hit[];
  /** The number of visible matching tools, also beyond the limit. */
  readonly total: number;
}

/** The index of a list, through which each client sees its own part. */
export class ToolIndex {
  /** The view of a client that sees the whole list. */
  readonly all: ToolView;
  readonly scorer: Scorer;
  readonly #byName: ReadonlyMap<string, readonly number[]>;

  /** @param byName the entries, keyed by lower-case name */
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

  /** The part of the list for which `isVisible` returns true; create it once per set of visible tools. */
  viewOf(isVisible: (entry: number) => boolean): ToolView {
    return new ToolView(this, isVisible);
  }

  /** The entries of this name, case-insensitive, exact matches first. */
  named(name: string): readonly number[] {
    const entries = this.#byName.get(name.toLowerCase()) ?? [];
    const isExact = (entry: number): boolean => this.tools[entry]?.name === name;
    return [...entries.filter(isExact), ...entries.filter((entry) => !isExact(entry))];
  }
}

/**
 * The part of an index that a client sees. All statistics are computed over that part only: the result equals that of
 * an index of the visible tools, so it reveals nothing about other tools.
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

  /** Finds the tools that match `query`; a query without any known word finds nothing. */
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

/** Inserts a hit in order among the best ones. */
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

/** Ties are resolved in list order. */
const isBetter = (entry: number, score: number, other: Hit): boolean =>
  score > other.score || (score === other.score && entry < other.entry);
