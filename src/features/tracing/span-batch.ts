/** A batch of spans as bytes off the heap: pending objects would be copied by each garbage collection. */

/** The body of one export. UTF-8 needs at most three bytes per character. */
const BYTES = 256 * 1024;
const MAX_BYTES_PER_CHARACTER = 3;

/** The spans of one export, as its body. */
export class SpanBatch {
  readonly #bytes = Buffer.allocUnsafe(BYTES);
  readonly #start: number;
  readonly #end: string;
  #length: number;
  #count = 0;

  /** `head` and `tail` enclose the list of spans. */
  constructor(head: string, tail: string) {
    this.#start = this.#bytes.write(head);
    this.#length = this.#start;
    this.#end = tail;
  }

  /** The number of its spans. */
  get count(): number {
    return this.#count;
  }

  /** False if it does not fit. */
  add(span: string): boolean {
    const most = (span.length + this.#end.length + 1) * MAX_BYTES_PER_CHARACTER;
    if (this.#length + most > BYTES) return false;
    if (this.#count > 0) this.#length += this.#bytes.write(",", this.#length);
    this.#length += this.#bytes.write(span, this.#length);
    this.#count += 1;
    return true;
  }

  /** Valid until the next `clear`. */
  get body(): Uint8Array {
    const end = this.#length + this.#bytes.write(this.#end, this.#length);
    return this.#bytes.subarray(0, end);
  }

  /** Empties it for reuse. */
  clear(): void {
    this.#length = this.#start;
    this.#count = 0;
  }
}
