/**
 * Does one of many words stand in a text? The search of Wu and Manber ("A fast algorithm for multi-pattern searching", 1994): blocks of
 * three characters say how far the next one can be skipped, so that the cost hardly depends on the number of words.
 */

/** Characters that are looked at together. */
const BLOCK = 3;
const TABLE_SIZE = 1 << 14;

/** Words to look for. */
export class LiteralSearch {
  readonly #shortest: number;
  /** How far the next possible end of a first part is, by the hash of a block; 0 where one may end here. */
  readonly #skips: Uint8Array;
  /** By the hash of the last block of their first part. */
  readonly #words = new Map<number, string[]>();

  /** @throws RangeError for a word that is shorter than a block */
  constructor(words: readonly string[]) {
    this.#shortest = Math.min(255, ...words.map(({ length }) => length));
    if (this.#shortest < BLOCK) throw new RangeError(`a word needs ${BLOCK} characters`);
    this.#skips = new Uint8Array(TABLE_SIZE).fill(this.#shortest - BLOCK + 1);
    for (const word of words) this.#add(word);
  }

  #add(word: string): void {
    for (let end = BLOCK; end <= this.#shortest; end++) {
      const hash = blockHash(word, end);
      this.#skips[hash] = Math.min(this.#skips[hash] ?? 0, this.#shortest - end);
    }
    const last = blockHash(word, this.#shortest);
    this.#words.set(last, [...(this.#words.get(last) ?? []), word]);
  }

  /** Where a word begins, from `from` on; -1 if none does. */
  indexIn(text: string, from = 0): number {
    for (let end = from + this.#shortest; end <= text.length; ) {
      const hash = blockHash(text, end);
      const skip = this.#skips[hash] ?? 1;
      if (skip > 0) {
        end += skip;
        continue;
      }
      const start = end - this.#shortest;
      if (this.#words.get(hash)?.some((word) => text.startsWith(word, start)) === true) return start;
      end += 1;
    }
    return -1;
  }
}

/** Of the block that ends before `end`. */
const blockHash = (text: string, end: number): number =>
  ((text.charCodeAt(end - 3) << 8) ^ (text.charCodeAt(end - 2) << 4) ^ text.charCodeAt(end - 1)) &
  (TABLE_SIZE - 1);
