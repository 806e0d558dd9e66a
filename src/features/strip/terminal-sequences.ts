/** How far does a control sequence of a terminal reach (ECMA-48)? Its letters would be left as text. */

const ESC = 0x1b;
/** What ends a string of a sequence: BEL, ESC \ or ST. */
const TERMINATOR = new RegExp(["\\u0007", "\\u001b\\\\", "\\u009c"].join("|"), "g");
/** More belongs to no sequence (UTF-16 code units). */
const LONGEST_STRING = 4096;
const LONGEST_PARAMETERS = 128;

/** The sequences of one text, from left to right. Linear in its length. */
export class TerminalSequences {
  readonly #text: string;
  /** Where the string that was looked for last ends, or would end; undefined before that. */
  #terminated: { readonly at: number; readonly end: number } | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** Where the sequence ends that begins with the control character at `at`; one character later if none does. */
  endOf(at: number): number {
    const code = this.#text.charCodeAt(at);
    if (code === 0x9b) return this.#endOfParameters(at + 1);
    if (code === 0x90 || code === 0x98 || (code >= 0x9d && code <= 0x9f)) return this.#endOfString(at + 1);
    return code === ESC ? this.#endOfEscape(at + 1) : at + 1;
  }

  #endOfEscape(at: number): number {
    const next = this.#text[at] ?? "";
    if (next === "[") return this.#endOfParameters(at + 1);
    if (next !== "" && "]PX^_".includes(next)) return this.#endOfString(at + 1);
    // A character set has one more letter; the rest are alone.
    if (next !== "" && "()*+-./%#".includes(next)) return Math.min(at + 2, this.#text.length);
    return next !== "" && "78=>".includes(next) ? at + 1 : at;
  }

  /** Parameters, intermediate ones, and a last letter; without that the introducer alone is no text. */
  #endOfParameters(from: number): number {
    const limit = Math.min(this.#text.length, from + LONGEST_PARAMETERS);
    let at = from;
    while (at < limit && isWithin(this.#text.charCodeAt(at), 0x20, 0x3f)) at += 1;
    return at < limit && isWithin(this.#text.charCodeAt(at), 0x40, 0x7e) ? at + 1 : from;
  }

  #endOfString(from: number): number {
    if (this.#terminated === undefined || this.#terminated.at < from) {
      TERMINATOR.lastIndex = from;
      const found = TERMINATOR.exec(this.#text);
      this.#terminated =
        found === null
          ? { at: Number.POSITIVE_INFINITY, end: from }
          : { at: found.index, end: TERMINATOR.lastIndex };
    }
    const { at, end } = this.#terminated;
    return at - from <= LONGEST_STRING ? end : from;
  }
}

const isWithin = (code: number, first: number, last: number): boolean => code >= first && code <= last;
