/** Takes whatever a pattern matches or a detector finds out of texts, so that no text holds others up for long. */

import type { RE2JS } from "../../../patterns/re2.js";
import type { Steps, Work } from "../../../runtime/cooperative-yield.js";
import { detectedSpans, withoutSpans } from "../detect/detected-spans.js";
import type { DetectedKind } from "../detect/detector.js";
import { isSecretMember } from "../detect/key-words.js";

/** RE2 is linear, but not fast: a longer text is taken out as a whole. */
const MAX_TEXT_LENGTH = 262_144;
/** RE2's time per character grows with the pattern: the most characters times instructions in one slice (40 ms). */
const MAX_SEARCH_COST = 32_000_000;
/** The same for replacing, which is the slow part; longer texts are taken in pieces. */
const MAX_REPLACE_COST = 2_000_000;
const PIECE = { shortest: 1_024, longest: 16_384 } as const;
/** Replacing costs this many times as much as searching. */
const REPLACE_COST_FACTOR = 8;

interface Pattern {
  readonly engine: RE2JS;
  readonly longestText: number;
  readonly pieceLength: number;
}

/** Replaces matches of patterns in texts, in slices that yield to the event loop. */
export class TextRedactor {
  /** Finds nothing. */
  static readonly NONE = new TextRedactor([], "");
  readonly #patterns: readonly Pattern[];
  readonly #replacement: string;
  readonly #detect: readonly DetectedKind[];
  readonly #findsSecrets: boolean;
  constructor(patterns: readonly RE2JS[], replacement: string, detect: readonly DetectedKind[] = []) {
    this.#detect = detect;
    this.#findsSecrets = detect.includes("secrets");
    this.#patterns = patterns.map((engine) => {
      const size = Math.max(1, engine.programSize());
      const piece = Math.min(PIECE.longest, Math.max(PIECE.shortest, Math.floor(MAX_REPLACE_COST / size)));
      const longestText = Math.min(MAX_TEXT_LENGTH, Math.floor(MAX_SEARCH_COST / size));
      return { engine, longestText, pieceLength: piece };
    });
    this.#replacement = replacement;
  }

  /** Whether there is anything to look for. */
  get active(): boolean {
    return this.#patterns.length > 0 || this.#detect.length > 0;
  }

  /** Whether the value of a member with this name is a secret. */
  isSecret(name: string, value: string): boolean {
    return this.#findsSecrets && isSecretMember(name, value);
  }

  *redact(text: string, work: Work): Steps<string> {
    let clean = text;
    if (this.#detect.length > 0) {
      const spans = yield* detectedSpans(clean, this.#detect, work);
      if (spans.length > 0) clean = withoutSpans(clean, spans, this.#replacement);
    }
    for (const pattern of this.#patterns) {
      if (clean.length > pattern.longestText) return this.#replacement;
      yield* work.spend(clean.length);
      // Looking is ten times cheaper than replacing, and most texts are clean.
      if (pattern.engine.test(clean)) clean = yield* this.#replaced(clean, pattern, work);
    }
    return clean;
  }

  /**
   * In pieces, then in pieces that begin elsewhere, for what lay across two of them. What is found even then is
   * longer than a piece, and all of the text goes.
   */
  *#replaced(text: string, pattern: Pattern, work: Work): Steps<string> {
    const { engine, pieceLength } = pattern;
    if (text.length <= pieceLength) {
      yield* work.spend(text.length * REPLACE_COST_FACTOR);
      return this.#replacedNow(text, engine);
    }
    let clean = text;
    for (const first of [pieceLength, pieceLength >> 1]) {
      const pieces: string[] = [];
      for (let from = 0, to = first; from < clean.length; from = to, to += pieceLength) {
        to = endOfPiece(clean, from, to);
        const piece = clean.slice(from, to);
        const found = engine.test(piece);
        yield* work.spend(piece.length * (found ? REPLACE_COST_FACTOR : 1));
        pieces.push(found ? this.#replacedNow(piece, engine) : piece);
      }
      clean = pieces.join("");
      yield* work.spend(clean.length);
      if (!engine.test(clean)) return clean;
    }
    return this.#replacement;
  }

  #replacedNow(text: string, engine: RE2JS): string {
    return engine.matcher(text).replaceAll(() => this.#replacement);
  }
}

/** A piece ends behind white space where there is some near, and never inside a character. */
function endOfPiece(text: string, from: number, to: number): number {
  if (to >= text.length) return text.length;
  const near = from + ((to - from) * 3) / 4;
  for (let at = to; at > near; at--) if (/\s/.test(text.charAt(at - 1))) return at;
  const code = text.charCodeAt(to);
  return code >= 0xdc00 && code < 0xe000 ? to - 1 : to;
}
