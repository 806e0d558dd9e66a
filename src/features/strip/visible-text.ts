/** A text without the characters that no reader sees. Linear in its length. */
import type { Steps, Work } from "../../runtime/cooperative-yield.js";
import { hasRightToLeft, isUsed, type Neighbours, needsALook, nextToLookAt } from "./invisible-characters.js";
import { TerminalSequences } from "./terminal-sequences.js";

/** A longer text is searched in pieces (UTF-16 code units). */
const PIECE = 262_144;
/** Searching costs the 16th part of the work that `Work` counts for a character; a look at one costs 8. */
const SEARCH_DIVISOR = 16;
const LOOK_WORK = 8;

/** The very same text if it has none. */
export function* visibleText(text: string, work: Work): Steps<string> {
  if (text.length <= PIECE) {
    if (work.mustYield(text.length / SEARCH_DIVISOR)) yield;
    if (!needsALook(text)) return text;
  }
  const reader = new Reader(text);
  for (let begin = 0; begin < text.length; begin += PIECE) {
    const end = Math.min(text.length, begin + PIECE);
    if (work.mustYield((end - begin) / SEARCH_DIVISOR)) yield;
    for (let at = nextToLookAt(text, begin, end); at !== -1; at = nextToLookAt(text, reader.after(at), end)) {
      reader.look(at);
      if (work.mustYield(LOOK_WORK)) yield;
    }
  }
  return reader.visible();
}

/** Takes invisible characters out of one text, from left to right. */
class Reader {
  readonly #text: string;
  readonly #sequences: TerminalSequences;
  readonly #kept: string[] = [];
  /** What stands before is done. */
  #from = 0;
  /** Where a flag of a region ends. */
  #flagEnd = 0;
  #isRightToLeft: boolean | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#sequences = new TerminalSequences(text);
  }

  /** `at`: where a character stands that may have to go. */
  look(at: number): void {
    // Of the piece before, a part may reach into this one.
    if (at < this.#from || at < this.#flagEnd) return;
    const end = this.#endOfInvisible(at);
    if (end === at) return;
    if (at > this.#from) this.#kept.push(this.#text.slice(this.#from, at));
    this.#from = end;
  }

  /** Where the next look is due after that at `at`. */
  after(at: number): number {
    return Math.max(at + 1, this.#from, this.#flagEnd);
  }

  visible(): string {
    if (this.#from === 0) return this.#text;
    this.#kept.push(this.#text.slice(this.#from));
    return this.#kept.join("");
  }

  /** `at` if the character there stays. */
  #endOfInvisible(at: number): number {
    const code = this.#text.codePointAt(at) ?? 0;
    if (code < 0xa0) return this.#sequences.endOf(at);
    const end = at + (code > 0xffff ? 2 : 1);
    if (isTag(code) && isTag(this.#text.codePointAt(end) ?? 0)) this.#flagEnd = endOfFlag(this.#text, at);
    if (at < this.#flagEnd) return at;
    const around: Neighbours = { text: this.#text, at, end, isRightToLeft: this.#hasRightToLeft };
    // Half of a pair is no character, and beyond these ranges every character is visible.
    if (code >= 0xd800 && code <= 0xdfff) return at;
    if (code > 0xffff && (code < 0xe0000 || code > 0xe0fff)) return at;
    return isUsed(code, around) ? at : end;
  }

  readonly #hasRightToLeft = (): boolean => {
    this.#isRightToLeft ??= hasRightToLeft(this.#text);
    return this.#isRightToLeft;
  };
}

const isTag = (code: number): boolean => code >= 0xe0020 && code <= 0xe007f;

const BLACK_FLAG = "\u{1F3F4}";
/** A code of a region such as gbeng, and the tag that ends it (UTS 51, "Emoji Tag Sequences"). */
const REGION = /[\u{E0061}-\u{E007A}]{2}[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{1,3}\u{E007F}/uy;

/** Where the flag of a region ends whose first tag is at `at`; `at` if it is none. */
function endOfFlag(text: string, at: number): number {
  if (at < BLACK_FLAG.length || !text.startsWith(BLACK_FLAG, at - BLACK_FLAG.length)) return at;
  REGION.lastIndex = at;
  return REGION.test(text) ? REGION.lastIndex : at;
}
