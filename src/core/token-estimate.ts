/**
 * How many tokens is a text for a model? An estimate of OpenAI's o200k_base without its vocabulary: the text is split into
 * the encoding's pieces (words, digits, marks), and each costs what such pieces cost in tool definitions on average.
 */
import type { JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";

const MARK = 0;
const SPACE = 1;
const DIGIT = 2;
const UPPER = 3;
const LOWER = 4;
/** Letters of other alphabets than the English one. */
const FOREIGN = 5;
/** Chinese, Japanese and Korean, whose words are not set apart by spaces. */
const CJK = 6;
/** Marks beyond ASCII, and halves of surrogate pairs. */
const SYMBOL = 7;

const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/\s/.test(character)) return SPACE;
  if (/\d/.test(character)) return DIGIT;
  if (/[A-Z]/.test(character)) return UPPER;
  return /[a-z]/.test(character) ? LOWER : MARK;
});

function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code < 128) return ASCII[code] as number;
  if (code < 0x2000) return code < 0xc0 || code === 0xd7 || code === 0xf7 ? SYMBOL : FOREIGN;
  if (code < 0x2e80 || (code >= 0x3000 && code < 0x3040)) return SYMBOL;
  if (code < 0xd800) return CJK;
  return (code >= 0xf900 && code < 0xfb00) || code >= 0xff66 ? CJK : SYMBOL;
}

const isLetter = (kind: number): boolean => kind >= UPPER && kind <= FOREIGN;

/** The number of o200k tokens, estimated; docs/tokens.md has the measured error. Takes some 20 ms for a megabyte. */
export function estimateTokens(text: string): number {
  const { length } = text;
  /** The end of the run of one kind that begins at `start`. */
  const endOf = (start: number, kind: number): number => {
    let end = start;
    while (end < length && kindAt(text, end) === kind) end++;
    return end;
  };
  let tokens = 0;
  for (let at = 0; at < length; ) {
    const start = at;
    let kind = kindAt(text, start);
    if (kind === SPACE) {
      at = endOf(start, SPACE);
      kind = at < length ? kindAt(text, at) : SPACE;
      // The last space belongs to the word or the marks after it.
      const attaches = isLetter(kind) || kind === MARK;
      if (!attaches || at - start > 1) tokens += 1;
      if (!attaches) continue;
    }
    const isAfterSpace = at > start;
    const first = at;
    if (kind === MARK) {
      at = endOf(first, MARK);
      const isPrefix = at - first === 1 && !isAfterSpace && at < length && isLetter(kindAt(text, at));
      if (!isPrefix) {
        tokens += markTokens(at - first);
        continue;
      }
      kind = kindAt(text, at);
    }
    if (isLetter(kind)) {
      const word = at;
      // A word ends before a capital after a small letter.
      at = endOf(at, UPPER);
      const foreign = at;
      while (at < length && (kindAt(text, at) === LOWER || kindAt(text, at) === FOREIGN)) at++;
      const isForeign = hasForeign(text, foreign, at);
      tokens += isForeign ? foreignTokens(at - word) : wordTokens(at - word, word > first);
    } else if (kind === DIGIT) {
      at = endOf(first, DIGIT);
      tokens += Math.ceil((at - first) / 3);
    } else {
      at = endOf(first, kind);
      tokens += (at - first) * (kind === CJK ? 0.6 : 1);
    }
  }
  return Math.round(tokens);
}

/** Those of a tool's definition: of the parts that hosts send to a model, which are name, description and input schema. */
export const definitionTokens = ({ name, description, inputSchema }: JsonObject): number =>
  estimateTokens(writeJson({ name, description, inputSchema }));

function hasForeign(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (kindAt(text, at) === FOREIGN) return true;
  return false;
}

const foreignTokens = (length: number): number => 1 + Math.max(0, length - 3) * 0.2;

function wordTokens(length: number, isAfterMark: boolean): number {
  // Few words are in the vocabulary together with a mark.
  if (isAfterMark) return length < 4 ? 1.1 : length < 8 ? 1.25 : 1.8 + (length - 8) * 0.1;
  return length < 8 ? 1.02 : 1.08 + Math.max(0, length - 10) * 0.1;
}

/** The tokens of a run of 0, 1, 2, … marks, such as `":{"`. */
const MARK_TOKENS = [0, 1, 1, 1, 1.28, 2.07, 2.79] as const;

const markTokens = (length: number): number => MARK_TOKENS[length] ?? MARK_TOKENS[6] + (length - 6) * 0.75;
