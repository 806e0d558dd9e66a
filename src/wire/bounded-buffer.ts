/** How are chunks collected into one buffer, up to a limit? */

const NONE = Buffer.alloc(0);

/** A growing buffer of at most `limit` bytes. */
export class BoundedBuffer {
  readonly #limit: number;
  /** Grown by doubling, so that many small pieces cost no more than one large one. */
  #bytes: Buffer = NONE;
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get length(): number {
    return this.#length;
  }

  /** Allocates `bytes` in advance, up to the limit; NaN and negative values are ignored. */
  reserve(bytes: number): void {
    if (this.#bytes.length === 0 && bytes > 0)
      this.#bytes = Buffer.allocUnsafeSlow(Math.min(bytes, this.#limit));
  }

  /** Appends `piece` from `start` to `end`. False when over the limit; the buffer is then emptied. */
  append(piece: Buffer, start = 0, end = piece.length): boolean {
    const length = this.#length + end - start;
    if (length > this.#limit) {
      this.take();
      return false;
    }
    if (length > this.#bytes.length) {
      const size = Math.min(this.#limit, Math.max(length, this.#bytes.length * 2));
      const grown = Buffer.allocUnsafeSlow(size);
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    piece.copy(this.#bytes, this.#length, start, end);
    this.#length = length;
    return true;
  }

  /** Returns the bytes and empties the buffer; the returned bytes are not written to again. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = NONE;
    this.#length = 0;
    return taken;
  }
}
