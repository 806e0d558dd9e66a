/** Synonyms of a term with their weights, from the stems of the words in `synonym-words.ts`. */
import type { Steps } from "../../../runtime/cooperative-yield.js";
import { ACTIONS, SUBJECTS, THINGS } from "./synonym-words.js";
import { type Stems, stemOf } from "./terms.js";

/** A search term and its weight. */
export interface QueryTerm {
  readonly term: string;
  readonly weight: number;
}

/** The weights of a synonym, and of a term of the same subject. */
const SAME_WEIGHT = 0.5;
const SUBJECT_WEIGHT = 0.25;
/** Groups stemmed per step: about 1 ms. */
const GROUPS_IN_STEP = 50;
/** Words up to this length are also abbreviations: `pr` for `pull request`. */
const MAX_ABBREVIATION = 4;

interface Group {
  readonly weight: number;
  /** Terms; those of a phrase are separated by a space. */
  readonly terms: readonly string[];
}

/** The groups of each term and phrase. */
export class Synonyms {
  readonly #groups: ReadonlyMap<string, readonly Group[]>;
  /** The cached results of `of`. */
  readonly #given = new Map<string, readonly QueryTerm[]>();
  readonly #firstOfPhrases = new Set<string>();

  constructor(groups: ReadonlyMap<string, readonly Group[]>) {
    this.#groups = groups;
    for (const key of groups.keys()) {
      const end = key.indexOf(" ");
      if (end > 0) this.#firstOfPhrases.add(key.slice(0, end));
    }
  }

  /** Whether a known phrase begins with this term. */
  beginsPhrase(term: string): boolean {
    return this.#firstOfPhrases.has(term);
  }

  /** The single terms that count for a term or phrase, without duplicates and without the term itself. */
  of(key: string): readonly QueryTerm[] {
    const groups = this.#groups.get(key);
    if (groups === undefined) return NONE;
    let given = this.#given.get(key);
    if (given === undefined) {
      given = withoutKey(key, groups);
      this.#given.set(key, given);
    }
    return given;
  }

  /** The terms of the phrases behind an abbreviation. */
  spelledOut(key: string): readonly QueryTerm[] {
    if (key.length > MAX_ABBREVIATION) return [];
    return (this.#groups.get(key) ?? []).flatMap(({ weight, terms }) =>
      terms
        .filter((term) => term.includes(" "))
        .flatMap((phrase) => phrase.split(" ").map((term) => ({ term, weight }))),
    );
  }
}

const NONE: readonly QueryTerm[] = [];

function withoutKey(key: string, groups: readonly Group[]): readonly QueryTerm[] {
  const weights = new Map<string, number>();
  for (const { weight, terms } of groups) {
    for (const term of terms) {
      if (term !== key && !term.includes(" ") && weight > (weights.get(term) ?? 0)) weights.set(term, weight);
    }
  }
  return [...weights].map(([term, weight]) => ({ term, weight }));
}

/** Stems all groups, a few per step. */
export function* stemSynonyms(stems: Stems): Steps<Synonyms> {
  const groups = new Map<string, Group[]>();
  let count = 0;
  for (const [text, weight] of [
    [ACTIONS, SAME_WEIGHT],
    [THINGS, SAME_WEIGHT],
    [SUBJECTS, SUBJECT_WEIGHT],
  ] as const) {
    for (const words of wordGroups(text)) {
      count += 1;
      if (count % GROUPS_IN_STEP === 0) yield;
      const stemmed = words.map((word) =>
        word
          .split("-")
          .map((part) => stemOf(part, stems))
          .join(" "),
      );
      const group = { weight, terms: [...new Set(stemmed)] };
      for (const term of group.terms) {
        const known = groups.get(term);
        if (known === undefined) groups.set(term, [group]);
        else known.push(group);
      }
    }
  }
  return new Synonyms(groups);
}

/** The words that start another request: actions and question words. */
export const REQUEST_WORDS: ReadonlySet<string> = new Set([
  ...wordGroups(ACTIONS).flat(),
  ..."what how who when where which is are can could tell give need want i".split(" "),
]);

function wordGroups(text: string): readonly (readonly string[])[] {
  return text.split(";").flatMap((group) => {
    const words = group.split(/\s+/).filter((word) => word !== "");
    return words.length === 0 ? [] : [words];
  });
}
