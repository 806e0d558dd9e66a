/**
 * Splits text into terms, the same way for tools and queries: words split at separators and case changes, folded,
 * without stop words, stemmed. Every step is linear in the length of the text, and none throws.
 */
import { stemmer } from "stemmer";

/** Maximum characters per text; the rest is ignored. */
export const MAX_TEXT_LENGTH = 2_048;
/** Maximum characters per word; longer ones are identifiers and encoded data. */
const MAX_WORD_LENGTH = 40;

const NOT_ASCII = /[^\p{ASCII}]/u;
const DIACRITICS = /[\u0300-\u036f]+/g;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts without spaces: each pair of adjacent characters is a word. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30fc]+/gu;
const LATIN_WORD = /^[a-z]{3,}$/;
/** Words that the stemmer would mistake for a form of another one: `news` for `new`. */
const UNSTEMMED: ReadonlySet<string> = new Set(["news", "species", "series", "axis"]);

/** A cache of stems for a caller with many texts; owned by that caller. */
export type Stems = Map<string, string>;

/**
 * The words of a text in order, in lower case, without diacritics, including stop words. A word in camel case yields
 * its parts and the whole: `GitHub` is `git`, `hub`, `github`.
 */
export function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  for (const run of fold(text).match(WORD) ?? []) addWords(run, words);
  return words;
}

/** The terms of a text in order: stems of its words without stop words. */
export function termsOf(text: string, stems?: Stems): readonly string[] {
  const terms: string[] = [];
  for (const word of wordsOf(text)) if (!STOP_WORDS.has(word)) terms.push(stemOf(word, stems));
  return terms;
}

/** The term of a lower-case word. */
export function stemOf(word: string, stems?: Stems): string {
  const known = stems?.get(word);
  if (known !== undefined) return known;
  const stem = LATIN_WORD.test(word) && !UNSTEMMED.has(word) ? stemmer(word) : word;
  stems?.set(word, stem);
  return stem;
}

/** Normalises compatible characters and removes diacritics: `Ａ`, `é` and `ﬁ` match `a`, `e` and `fi`. */
function fold(text: string): string {
  const read = text.slice(0, MAX_TEXT_LENGTH);
  if (!NOT_ASCII.test(read)) return read;
  return read.normalize("NFKD").replace(DIACRITICS, "").normalize("NFC").slice(0, MAX_TEXT_LENGTH);
}

function addWords(run: string, words: string[]): void {
  if (!NOT_ASCII.test(run)) {
    addCased(run, words);
    return;
  }
  let end = 0;
  for (const found of run.matchAll(UNSPACED)) {
    addCased(run.slice(end, found.index), words);
    addPairs([...found[0]], words);
    end = found.index + found[0].length;
  }
  addCased(run.slice(end), words);
}

function addPairs(characters: readonly string[], words: string[]): void {
  if (characters.length === 1) words.push(characters[0] ?? "");
  for (let at = 1; at < characters.length; at++) words.push(`${characters[at - 1]}${characters[at]}`);
}

/** Splits at a lower-case letter or digit before an upper-case letter, and before the last of several upper-case letters. */
function addCased(run: string, words: string[]): void {
  const lower = run.toLowerCase();
  if (lower === run || lower.length !== run.length) {
    addWord(lower, words);
    return;
  }
  let start = 0;
  for (let at = 1; at < run.length; at++) {
    if (!isUpper(run, lower, at)) continue;
    const after = at + 1;
    const ends =
      !isUpper(run, lower, at - 1) ||
      (after < run.length && !isUpper(run, lower, after) && !isDigit(run, after));
    if (!ends) continue;
    addWord(lower.slice(start, at), words);
    start = at;
  }
  addWord(lower.slice(start), words);
  if (start > 0) addWord(lower, words);
}

const isUpper = (run: string, lower: string, at: number): boolean => run[at] !== lower[at];
const isDigit = (run: string, at: number): boolean => {
  const code = run.charCodeAt(at);
  return code >= 48 && code <= 57;
};

function addWord(word: string, words: string[]): void {
  if (word !== "") words.push(word.slice(0, MAX_WORD_LENGTH));
}

const WORDS = `
a about above after again all also am an and any are aren as at be because been before being below between both but by
can cannot could did didn do does doesn doing don down during each either etc few for from further had has hasn have
haven having he her here hers herself him himself his how i if in into is isn it its itself just let ll me might more
most must my myself no nor not now of off on once only or other our ours ourselves out over own please per re s same she
should so some such t than thank thanks that the their theirs them themselves then there these they this those through
to too under until up us ve very via was we were what when where whether which while who whom whose why will with within
without won would you your yours yourself
d m hi hello hey like want wants wanted need needs needed know tell help helps helping able maybe kindly
`;

/** In lower case, as `wordsOf` returns them. */
const STOP_WORDS: ReadonlySet<string> = new Set(WORDS.split(/\s+/).filter((word) => word !== ""));
