/** How are the ids of traces and spans made? From random bytes that are drawn in bulk. */
import { randomFillSync } from "node:crypto";

const POOL_BYTES = 4096;
const TRACE_BYTES = 16;
const SPAN_BYTES = 8;

/** Makes ids of hexadecimal digits, which are never all zero. */
export class SpanIds {
  readonly #pool = Buffer.alloc(POOL_BYTES);
  #at = POOL_BYTES;

  /** 32 digits. */
  trace(): string {
    return this.#take(TRACE_BYTES);
  }

  /** 16 digits. */
  span(): string {
    return this.#take(SPAN_BYTES);
  }

  /** Not sliced from a larger text, which would be kept with an id that is kept. */
  #take(bytes: number): string {
    for (;;) {
      if (this.#at + bytes > POOL_BYTES) {
        randomFillSync(this.#pool);
        this.#at = 0;
      }
      const id = this.#pool.toString("hex", this.#at, this.#at + bytes);
      this.#at += bytes;
      if (/[1-9a-f]/.test(id)) return id;
    }
  }
}
