/** Scores each visible entry: BM25F for the whole query, and for each request in it. */
import { type Postings, resized } from "./postings.js";
import type { Concept, Query } from "./query.js";

/** The weight of the relative score within a part; the rest is the score for the whole query. */
const PART_SHARE = 0.5;
/** The value of that relative score for an entry that is not the best one in the part. */
const NOT_BEST = 0.8;

/** A tool below this share of the best score only shares a common word with the query: it is not a hit. */
const MIN_SHARE = 0.2;

/** Synonyms are ignored if more tools than this share, and than this number, have them. */
const TOO_MANY = 0.05;
const MIN_TOO_MANY = 100;

/** A word is ignored if more tools than this share, and than this number, have it and the query has others. */
const EVERYWHERE = 0.3;
const MIN_EVERYWHERE = 1_000;

/** Inverse document frequency (BM25): high for rare terms, always positive. */
const rarity = (having: number, all: number): number => Math.log(1 + (all - having + 0.5) / (having + 0.5));

/** The entries visible to a client. */
export interface Visible {
  /** 1 for each visible entry; undefined if all are. */
  readonly bits: Uint8Array | undefined;
  readonly size: number;
}

/** The searched index. */
interface Searched {
  readonly visible: Visible;
  /** Whether a visible entry matches the filter. */
  readonly passes: (entry: number) => boolean;
}

type Take = (entry: number, score: number) => void;

/** Computes scores in buffers that all searches of one list share: a search is synchronous. */
export class Scorer {
  readonly #postings: Postings;
  /** Indexed by entry; all 0 between two searches. */
  readonly #scores: Float64Array;
  readonly #partScores: Float64Array;
  readonly #shares: Float64Array;
  /** The entries with a score, and those with one in a part. */
  readonly #scored: Uint32Array;
  readonly #scoredInPart: Uint32Array;
  readonly #found = new FoundEntries();

  constructor(postings: Postings, size: number) {
    this.#postings = postings;
    this.#scores = new Float64Array(size);
    this.#partScores = new Float64Array(size);
    this.#shares = new Float64Array(size);
    this.#scored = new Uint32Array(size);
    this.#scoredInPart = new Uint32Array(size);
  }

  /** Calls `take` with each matching visible entry whose score is at least MIN_SHARE of the best. */
  score({ concepts, parts }: Query, { visible, passes }: Searched, take: Take): void {
    this.#find(concepts, visible, Math.max(MIN_EVERYWHERE, EVERYWHERE * visible.size));
    if (this.#found.isEmpty) this.#find(concepts, visible, Number.POSITIVE_INFINITY);
    const scores = this.#scores;
    const scored = this.#scored;
    let count = 0;
    for (let number = 0; number < concepts.length; number++) count = this.#add(number, scores, scored, count);
    if (parts.length > 0) this.#addShares(parts, count);
    let passing = 0;
    for (let at = 0; at < count; at++) {
      const entry = scored[at] ?? 0;
      if (passes(entry)) {
        scored[passing] = entry;
        passing += 1;
      } else scores[entry] = 0;
    }
    const least = MIN_SHARE * topOf(scores, scored, passing);
    for (let at = 0; at < passing; at++) {
      const entry = scored[at] ?? 0;
      const score = scores[entry] ?? 0;
      if (score >= least) take(entry, score);
      scores[entry] = 0;
    }
  }

  /** Mixes the relative score within parts into the score. */
  #addShares(parts: Query["parts"], count: number): void {
    const scores = this.#scores;
    const scored = this.#scored;
    const shares = this.#shares;
    const top = topOf(scores, scored, count);
    for (const part of parts) this.#share(part);
    for (let at = 0; at < count; at++) {
      const entry = scored[at] ?? 0;
      scores[entry] = (1 - PART_SHARE) * (scores[entry] ?? 0) + PART_SHARE * top * (shares[entry] ?? 0);
      shares[entry] = 0;
    }
  }

  /** Keeps for each entry its highest relative score in any part. */
  #share(part: readonly number[]): void {
    const scores = this.#partScores;
    const scored = this.#scoredInPart;
    const shares = this.#shares;
    let count = 0;
    for (const number of part) count = this.#add(number, scores, scored, count);
    const top = topOf(scores, scored, count);
    const notBest = NOT_BEST / top;
    for (let at = 0; at < count; at++) {
      const entry = scored[at] ?? 0;
      const score = scores[entry] ?? 0;
      const share = score === top ? 1 : notBest * score;
      if (share > (shares[entry] ?? 0)) shares[entry] = share;
      scores[entry] = 0;
    }
  }

  /** Adds the values of a concept to `sums`, and newly scored entries to `scored`; returns the number of these. */
  #add(concept: number, sums: Float64Array, scored: Uint32Array, count: number): number {
    const { entries, values } = this.#found;
    const end = this.#found.endOf(concept);
    let all = count;
    for (let at = this.#found.startOf(concept); at < end; at++) {
      const entry = entries[at] ?? 0;
      const known = sums[entry] ?? 0;
      if (known === 0) {
        scored[all] = entry;
        all += 1;
      }
      sums[entry] = known + (values[at] ?? 0);
    }
    return all;
  }

  /** Finds the entries of all concepts, except those whose word more than `most` visible entries have. */
  #find(concepts: readonly Concept[], visible: Visible, most: number): void {
    this.#found.clear();
    for (const concept of concepts) this.#findOne(concept, visible, most);
  }

  /** Finds the visible entries that have one of the terms, with the highest value of these. */
  #findOne(concept: Concept, visible: Visible, most: number): void {
    const tooMany = Math.max(MIN_TOO_MANY, TOO_MANY * visible.size);
    let limit = Number.POSITIVE_INFINITY;
    for (const [at, { term, weight }] of concept.entries()) {
      const [start, end] = this.#postings.rangeOf(term);
      const having = this.#count(start, end, visible);
      if (at === 0 && having > most) break;
      if (having === 0 || (at > 0 && having > tooMany)) continue;
      // A synonym never counts more than the word itself.
      const tells = Math.min(limit, rarity(having, visible.size));
      if (at === 0) limit = tells;
      this.#take(start, end, weight * tells, visible);
    }
    this.#found.endConcept(this.#partScores);
  }

  #count(start: number, end: number, { bits }: Visible): number {
    if (bits === undefined) return end - start;
    const { entries } = this.#postings;
    let count = 0;
    for (let at = start; at < end; at++) count += bits[entries[at] ?? 0] ?? 0;
    return count;
  }

  #take(start: number, end: number, value: number, { bits }: Visible): void {
    const { entries, weights } = this.#postings;
    const values = this.#partScores;
    for (let at = start; at < end; at++) {
      const entry = entries[at] ?? 0;
      if (bits !== undefined && bits[entry] === 0) continue;
      const known = values[entry] ?? 0;
      if (known === 0) this.#found.add(entry);
      const score = value * (weights[at] ?? 0);
      if (score > known) values[entry] = score;
    }
  }
}

function topOf(scores: Float64Array, scored: Uint32Array, count: number): number {
  let top = 0;
  for (let at = 0; at < count; at++) {
    const score = scores[scored[at] ?? 0] ?? 0;
    if (score > top) top = score;
  }
  return top;
}

/** The entries of each concept of a query, and its value in each. */
class FoundEntries {
  entries = new Uint32Array(1_024);
  values = new Float64Array(1_024);
  #length = 0;
  #ends: number[] = [];

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  clear(): void {
    this.#length = 0;
    this.#ends = [];
  }

  add(entry: number): void {
    if (this.#length === this.entries.length) {
      this.entries = resized(this.entries, new Uint32Array(2 * this.#length));
      this.values = resized(this.values, new Float64Array(2 * this.#length));
    }
    this.entries[this.#length] = entry;
    this.#length += 1;
  }

  /** Moves the values of the concept's entries out of `values`, leaving 0. */
  endConcept(values: Float64Array): void {
    for (let at = this.#ends.at(-1) ?? 0; at < this.#length; at++) {
      const entry = this.entries[at] ?? 0;
      this.values[at] = values[entry] ?? 0;
      values[entry] = 0;
    }
    this.#ends.push(this.#length);
  }

  startOf(concept: number): number {
    return concept === 0 ? 0 : this.endOf(concept - 1);
  }

  endOf(concept: number): number {
    return this.#ends[concept] ?? 0;
  }
}
