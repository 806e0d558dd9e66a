/** Which terms does a query ask for, and which others mean the same? */
import { termsOf } from "./terms.js";

/** A term of a query. */
interface QueryTerm {
  readonly term: string;
  readonly weight: number;
}

/** What one word of a query asks for: the best of these terms counts. */
export type Concept = readonly QueryTerm[];

/** Distinct concepts of a query that are searched. */
const MAX_CONCEPTS = 64;

/** The concepts of a query in the order of its words, each once. */
export function conceptsOf(query: string): readonly Concept[] {
  return [...new Set(termsOf(query))].slice(0, MAX_CONCEPTS).map((term) => [{ term, weight: 1 }]);
}
