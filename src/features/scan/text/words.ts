/** The words of a text, as a model reads them: without case, accents, look-alike letters and invisible characters. */
import { hiddenKind, plainLetters } from "./characters.js";

/** A word, and where it stands. */
export interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Whether a sentence ends behind it. */
  isLast: boolean;
}

/** The longest word (UTF-16 code units); the rest of a longer one is left out. */
const LONGEST_WORD = 160;
/** A sentence ends at the latest after this many words, so that work in a sentence is bounded. */
const LONGEST_SENTENCE = 120;

/** The words of `text`. Linear in its length. */
export function wordsOf(text: string): readonly Word[] {
  return new Tokenizer(text).words();
}

class Tokenizer {
  readonly #text: string;
  readonly #words: Word[] = [];
  #word = "";
  #start = 0;
  #inSentence = 0;
  constructor(text: string) {
    this.#text = text;
  }

  words(): readonly Word[] {
    const text = this.#text;
    for (let at = 0; at < text.length; ) {
      const code = text.codePointAt(at) ?? 0;
      const size = code > 0xffff ? 2 : 1;
      if (code < 0x80) this.#ascii(code, at);
      else this.#other(code, at);
      at += size;
    }
    this.#flush(text.length);
    return this.#words;
  }

  #ascii(code: number, at: number): void {
    const kind = ASCII[code];
    if (kind === WORD) this.#add(LOWER[code] ?? "", at);
    else if (kind === INNER) this.#inner(code, at);
    else if (kind !== HIDDEN) this.#break(code, at);
  }

  #other(code: number, at: number): void {
    if (hiddenKind(code) !== undefined) return;
    const character = String.fromCodePoint(code);
    if (code === 0x2019) this.#inner(0x27, at);
    else if (/[\p{L}\p{N}]/u.test(character)) this.#add(plainLetters(character), at);
    else if (/[。！？]/.test(character)) this.#endSentence(at);
    else this.#flush(at);
  }

  /** Characters that are part of a word only between others: `don't`, `~/.ssh/id_rsa`, `get-user`. */
  #inner(code: number, at: number): void {
    const next = this.#text.charCodeAt(at + 1);
    const before = this.#text.charCodeAt(at - 1);
    const isWithin = isWordCode(next) || (code !== 0x27 && isPathCode(next) && !isSpaceCode(next));
    if (
      isWithin &&
      (this.#word !== "" || code === 0x7e || code === 0x2f || (code === 0x2e && !isWordCode(before)))
    ) {
      this.#add(code === 0x27 ? "" : String.fromCharCode(code), at);
    } else this.#break(code, at);
  }

  #break(code: number, at: number): void {
    const text = this.#text;
    this.#flush(at);
    if (code === 0x0a) {
      if (isParagraphEnd(text, at + 1)) this.#endSentence(at);
    } else if (code === 0x2e || code === 0x21 || code === 0x3f || code === 0x3b) this.#endSentence(at);
  }

  #add(letters: string, at: number): void {
    if (this.#word === "") this.#start = at;
    if (this.#word.length < LONGEST_WORD) this.#word += letters;
  }

  #flush(end: number): void {
    if (this.#word === "") return;
    this.#inSentence += 1;
    const isLast = this.#inSentence >= LONGEST_SENTENCE;
    this.#words.push({
      text: this.#word,
      start: this.#start,
      end,
      isLast,
    });
    this.#word = "";
    if (isLast) this.#inSentence = 0;
  }

  #endSentence(at: number): void {
    this.#flush(at);
    const last = this.#words.at(-1);
    if (last !== undefined) last.isLast = true;
    this.#inSentence = 0;
  }
}

const WORD = 1;
const INNER = 2;
const HIDDEN = 3;
const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[A-Za-z0-9_]/.test(character)) return WORD;
  if (/[-./~'@\\]/.test(character)) return INNER;
  return hiddenKind(code) === undefined ? 0 : HIDDEN;
});
const LOWER = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code).toLowerCase());

const isWordCode = (code: number): boolean => code >= 0x80 || ASCII[code] === WORD;
const isPathCode = (code: number): boolean =>
  code === 0x2e || code === 0x2f || code === 0x7e || code === 0x5c;
const isSpaceCode = (code: number): boolean => code === 0x20 || code === 0x0a;

/** Whether the line that begins at `at` is empty, or an item of a list. */
function isParagraphEnd(text: string, at: number): boolean {
  for (let next = at; next < text.length; next++) {
    const code = text.charCodeAt(next);
    if (code === 0x20 || code === 0x09 || code === 0x0d) continue;
    return code === 0x0a || code === 0x2d || code === 0x2a || code === 0x23;
  }
  return true;
}
