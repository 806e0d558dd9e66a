/** A batch of spans as bytes off the heap: pending objects would be copied by each garbage collection. */

import { type SpanFacts, spanText } from "./span.js";
import { isPlain, plainLength, writePlainSpan } from "./span-bytes.js";

/** The body of one export: collectors and proxies before them often accept no more than 1,000,000 bytes. */
const BYTES = 768 * 1024;
const COMMA = 0x2c;
/** UTF-8 needs at most three bytes per UTF-16 unit. */
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
  add(span: SpanFacts): boolean {
    const text = isPlain(span) ? undefined : spanText(span);
    const length = text === undefined ? plainLength(span) : text.length * MAX_BYTES_PER_CHARACTER;
    if (this.#length + length + 1 + this.#end.length * MAX_BYTES_PER_CHARACTER > BYTES) return false;
    if (this.#count > 0) this.#bytes[this.#length++] = COMMA;
    if (text === undefined) this.#length = writePlainSpan(this.#bytes, this.#length, span);
    else this.#length += this.#bytes.write(text, this.#length);
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
