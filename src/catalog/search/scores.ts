/** How well does each visible entry fit a query? BM25F for the whole query, and for each thing that it asks for. */
import type { Postings } from "./postings.js";
import type { Concept, Query } from "./query.js";
import { resized } from "./resized.js";

/** Of the score, what the share of the best score in a part counts; the rest is the score for the whole query. */
const PART_SHARE = 0.5;
/** What that share counts for an entry that is not the best one in the part. */
const NOT_BEST = 0.8;

/** A tool with less than this share of the best score has a common word with the query and no more: it is not found. */
const MIN_SHARE = 0.2;

/** What stands for a word is left out where more tools than this share have it, and more than this number. */
const TOO_MANY = 0.05;
const MIN_TOO_MANY = 100;

/** A word that more tools than this share have, and more than this number, is left out where the query has others. */
const EVERYWHERE = 0.3;
const MIN_EVERYWHERE = 1_000;

/** How much a term tells (BM25): much where few of the tools have it, and always more than nothing. */
const rarity = (having: number, all: number): number => Math.log(1 + (all - having + 0.5) / (having + 0.5));

/** The entries that a client sees. */
export interface Visible {
  /** 1 for each visible entry; undefined where all are. */
  readonly bits: Uint8Array | undefined;
  readonly size: number;
}

/** What is searched. */
interface Searched {
  readonly visible: Visible;
  /** Whether a visible entry may be found. */
  readonly passes: (entry: number) => boolean;
}

type Take = (entry: number, score: number) => void;

/** Computes scores with memory of its own, which all searches in one list share: a search is synchronous. */
export class Scorer {
  readonly #postings: Postings;
  /** By entry; all 0 between two searches. */
  readonly #scores: Float64Array;
  readonly #partScores: Float64Array;
  readonly #shares: Float64Array;
  /** The entries that have a score, and those that have one in a part. */
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

  /** Calls `take` with each visible entry that passes and has at least MIN_SHARE of the best score of these. */
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

  /** Makes the share of the best score in a part a part of the score. */
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

  /** Notes for each entry its share of the best score in a part, where that is more than its share in another one. */
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

  /** Adds what a concept counts to `sums`, and the entries that had none to `scored`; returns the number of these. */
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

  /** Finds the entries of all concepts but for those whose word more than `most` visible entries have. */
  #find(concepts: readonly Concept[], visible: Visible, most: number): void {
    this.#found.clear();
    for (const concept of concepts) this.#findOne(concept, visible, most);
  }

  /** Finds the visible entries that have one of the terms, and what the term counts there that counts most. */
  #findOne(concept: Concept, visible: Visible, most: number): void {
    const tooMany = Math.max(MIN_TOO_MANY, TOO_MANY * visible.size);
    let limit = Number.POSITIVE_INFINITY;
    for (const [at, { term, weight }] of concept.entries()) {
      const [start, end] = this.#postings.rangeOf(term);
      const having = this.#count(start, end, visible);
      if (at === 0 && having > most) break;
      if (having === 0 || (at > 0 && having > tooMany)) continue;
      // What stands for a word tells no more than the word itself.
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

/** The entries that each concept of a query was found in, and what it counts in each. */
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

  /** Takes the values of the concept's entries out of `values`, where 0 is left. */
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
