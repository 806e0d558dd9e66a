/** Sequences of words in a sentence that rules look for. */
import { bitsOf, classesOf, type WordClass } from "./vocabulary.js";
import type { Word } from "./words.js";

/** One step of a sequence: a word of these classes, at most `gap` words behind the one before. */
export interface Step {
  readonly bits: number;
  readonly gap: number;
}

/** A step for each entry: the classes, with spaces between, after the number of words that may stand before it. */
export const sequence = (...steps: readonly (readonly [gap: number, classes: string])[]): readonly Step[] =>
  steps.map(([gap, classes]) => ({ gap, bits: bitsOf(classes.split(" ") as WordClass[]) }));

/** The words of a text, with their classes. */
export interface Sentences {
  readonly words: readonly Word[];
  readonly classes: readonly number[];
  /** For each word the index of the first word of its sentence. */
  readonly begins: readonly number[];
}

/** Classifies the words of a text. */
export function sentencesOf(words: readonly Word[]): Sentences {
  const classes: number[] = [];
  const begins: number[] = [];
  let begin = 0;
  let before = "";
  for (const [at, word] of words.entries()) {
    classes.push(classesOf(word.text, before));
    begins.push(begin);
    before = word.isLast ? "" : word.text;
    if (word.isLast) begin = at + 1;
  }
  return { words, classes, begins };
}

/** Where the steps are found from the word at `at` on, within its sentence: the index of the last word; undefined if not. */
export function endOfSequence(
  { words, classes }: Sentences,
  at: number,
  steps: readonly Step[],
): number | undefined {
  let last = at;
  for (const step of steps.slice(1)) {
    let next = -1;
    for (let look = last + 1; look <= last + 1 + step.gap && look < words.length; look++) {
      if (words[look - 1]?.isLast === true) break;
      if (((classes[look] ?? 0) & step.bits) === 0) continue;
      next = look;
      break;
    }
    if (next === -1) return undefined;
    last = next;
  }
  return last;
}

/** How far back (words) a word such as `detects` says that what follows is spoken of, not asked for. */
const MENTION_REACH = 12;
const MENTION = bitsOf(["mention"]);

/** Whether the words from `at` on are an example, or what a tool looks for. */
export function isSpokenOf({ classes, begins }: Sentences, at: number): boolean {
  const begin = Math.max(begins[at] ?? 0, at - MENTION_REACH);
  for (let look = begin; look < at; look++) if (((classes[look] ?? 0) & MENTION) !== 0) return true;
  return false;
}

/** Whether a word of these classes is in the sentence of the word at `at`. */
export function hasInSentence({ words, classes, begins }: Sentences, at: number, bits: number): boolean {
  for (let look = begins[at] ?? at; look < words.length; look++) {
    if (((classes[look] ?? 0) & bits) !== 0) return true;
    if (words[look]?.isLast === true) return false;
  }
  return false;
}
