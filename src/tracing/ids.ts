/** How are the ids of traces and spans made? From random bytes that are drawn in bulk. */
import { randomFillSync } from "node:crypto";

const POOL_BYTES = 4096;
const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;

/** Makes ids of hexadecimal digits, which are never all zero. */
export class SpanIds {
  readonly #bytes = Buffer.alloc(POOL_BYTES);
  #digits = "";
  #at = 0;

  /** 32 digits. */
  trace(): string {
    return this.#take(TRACE_DIGITS);
  }

  /** 16 digits. */
  span(): string {
    return this.#take(SPAN_DIGITS);
  }

  #take(digits: number): string {
    for (;;) {
      if (this.#at + digits > this.#digits.length) {
        this.#digits = randomFillSync(this.#bytes).toString("hex");
        this.#at = 0;
      }
      const id = this.#digits.slice(this.#at, this.#at + digits);
      this.#at += digits;
      if (/[1-9a-f]/.test(id)) return id;
    }
  }
}
