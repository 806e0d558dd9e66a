/** How do spans wait for their export? As bytes outside of the heap: objects that wait are copied by each collection. */

/** The body of one export. A text takes at most three bytes for each character. */
const BYTES = 256 * 1024;
const MAX_BYTES_PER_CHARACTER = 3;

/** The spans of one export, as its body. */
export class SpanBatch {
  readonly #bytes = Buffer.allocUnsafe(BYTES);
  readonly #start: number;
  readonly #end: string;
  #length: number;
  #count = 0;

  /** `head` and `tail` stand around the list of spans. */
  constructor(head: string, tail: string) {
    this.#start = this.#bytes.write(head);
    this.#length = this.#start;
    this.#end = tail;
  }

  /** The number of its spans. */
  get count(): number {
    return this.#count;
  }

  /** False where there is no room for it. */
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

  /** For other spans. */
  clear(): void {
    this.#length = this.#start;
    this.#count = 0;
  }
}
