/** Parses a query into concepts, grouped by request. */
import { type QueryTerm, REQUEST_WORDS, type Synonyms } from "./synonyms.js";
import { MAX_TEXT_LENGTH, termsOf } from "./terms.js";

/** A word of a query with its synonyms: the term with the highest weight counts. The word itself is first. */
export type Concept = readonly [QueryTerm, ...QueryTerm[]];

/** A parsed query. */
export interface Query {
  readonly concepts: readonly Concept[];
  /** The concepts of each request in the query, as indexes; empty for a single request. */
  readonly parts: readonly (readonly number[])[];
}

/** Maximum distinct concepts of a query. */
const MAX_CONCEPTS = 256;
/** Minimum concepts of a part. */
const MIN_CONCEPTS = 2;
/** Terms of the longest phrase. */
const MAX_PHRASE = 3;

const SENTENCE_END = /[.?!;\n]+(?=\s|$)/;
const CONJUNCTION = /\b(?:and|then)\b|[&,]/i;
const FIRST_WORD = /^\s*(?:(?:and|then|also|please|finally|lastly|next|afterwards|to)\s+)*([a-z]+)/i;

/** Parses a query, independently of the tools. */
export function readQuery(text: string, synonyms: Synonyms): Query {
  const found = new Map<string, { number: number; concept: Concept }>();
  const parts: (readonly number[])[] = [];
  for (const part of partsOf(text.slice(0, MAX_TEXT_LENGTH))) {
    const numbers = new Set<number>();
    for (const [key, concept] of conceptsOf(termsOf(part), synonyms)) {
      let known = found.get(key);
      if (known === undefined) {
        if (found.size === MAX_CONCEPTS) continue;
        known = { number: found.size, concept };
        found.set(key, known);
      }
      numbers.add(known.number);
    }
    if (numbers.size >= MIN_CONCEPTS) parts.push([...numbers]);
  }
  return {
    concepts: [...found.values()].map(({ concept }) => concept),
    parts: parts.length > 1 ? parts : [],
  };
}

/** Sentences, and the text after a conjunction if it starts another request. */
function partsOf(text: string): readonly string[] {
  return text.split(SENTENCE_END).flatMap((sentence) => {
    const parts: string[] = [];
    for (const piece of sentence.split(CONJUNCTION)) {
      const first = FIRST_WORD.exec(piece)?.[1]?.toLowerCase() ?? "";
      if (parts.length === 0 || REQUEST_WORDS.has(first)) parts.push(piece);
      else parts[parts.length - 1] += ` ${piece}`;
    }
    return parts;
  });
}

/** The concepts of consecutive terms, keyed by identity. */
function conceptsOf(terms: readonly string[], synonyms: Synonyms): ReadonlyMap<string, Concept> {
  const concepts = new Map<string, Concept>();
  for (const term of terms) {
    if (!concepts.has(term)) concepts.set(term, [{ term, weight: 1 }, ...synonyms.of(term)]);
    for (const spelled of synonyms.spelledOut(term)) {
      if (!concepts.has(spelled.term)) concepts.set(spelled.term, [spelled]);
    }
  }
  for (let at = 1; at < terms.length; at++) {
    // `pull request` also searches for `pr`, and `file system` for `filesystem`.
    for (let length = 2; length <= Math.min(MAX_PHRASE, at + 1); length++) {
      if (!synonyms.beginsPhrase(terms[at + 1 - length] ?? "")) continue;
      const phrase = terms.slice(at + 1 - length, at + 1).join(" ");
      const [first, ...others] = synonyms.of(phrase);
      if (first !== undefined) concepts.set(phrase, [first, ...others]);
    }
    const joined = `${terms[at - 1]}${terms[at]}`;
    if (!concepts.has(joined)) concepts.set(joined, [{ term: joined, weight: 1 }]);
  }
  return concepts;
}
