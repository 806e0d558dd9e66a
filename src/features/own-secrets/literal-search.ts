/**
 * Where do words of a growing set stand in a text? The search of Wu and Manber ("A fast algorithm for multi-pattern searching", 1994): blocks
 * of three characters say how far the next end of a word can be skipped, so that the cost hardly depends on the number of words. The ends of
 * words are compared, since the beginnings of tokens are often the same.
 */

/** Characters that are looked at together. */
const BLOCK = 3;
const TABLE_SIZE = 1 << 14;

/** A word in a text, from `start` inclusive to `end` exclusive. */
export interface Match {
  readonly start: number;
  readonly end: number;
}

/** Words to look for. */
export class LiteralSearch {
  readonly #shortest: number;
  /** How far the next possible end is, by the hash of a block; 0 where a word may end here. */
  readonly #skips: Uint8Array;
  /** By the hash of their last block, the longest first. */
  readonly #words = new Map<number, string[]>();

  /** @param shortest the length of the shortest word (characters), at least BLOCK and at most 255 */
  constructor(shortest: number) {
    this.#shortest = shortest;
    this.#skips = new Uint8Array(TABLE_SIZE).fill(shortest - BLOCK + 1);
  }

  /** The first position at which a word may end. */
  get first(): number {
    return this.#shortest;
  }

  /** @throws RangeError for a word that is shorter than the shortest */
  add(word: string): void {
    const before = word.length - this.#shortest;
    if (before < 0) throw new RangeError(`a word needs ${this.#shortest} characters`);
    for (let end = before + BLOCK; end <= word.length; end++) {
      const hash = blockHash(word, end);
      this.#skips[hash] = Math.min(this.#skips[hash] ?? 0, word.length - end);
    }
    const last = blockHash(word, word.length);
    const words = [...(this.#words.get(last) ?? []), word];
    this.#words.set(
      last,
      words.sort((one, other) => other.length - one.length),
    );
  }

  /**
   * The first word that ends at `from` or behind it, and not behind `to`; undefined if there is none. Of several that end there the
   * longest. @param isWanted which words count
   */
  find(text: string, from: number, to: number, isWanted: (word: string) => boolean): Match | undefined {
    for (let end = from; end <= to; ) {
      const hash = blockHash(text, end);
      const skip = this.#skips[hash] ?? 1;
      if (skip > 0) {
        end += skip;
        continue;
      }
      const at = end;
      const word = this.#words
        .get(hash)
        ?.find((each) => text.startsWith(each, at - each.length) && isWanted(each));
      if (word !== undefined) return { start: end - word.length, end };
      end += 1;
    }
    return undefined;
  }
}

/** Of the block that ends before `end`. */
const blockHash = (text: string, end: number): number =>
  ((text.charCodeAt(end - 3) << 8) ^ (text.charCodeAt(end - 2) << 4) ^ text.charCodeAt(end - 1)) &
  (TABLE_SIZE - 1);
