/** Generates trace and span ids from random bytes that are drawn in bulk. */
import { randomFillSync } from "node:crypto";

const POOL_BYTES = 4096;
const TRACE_BYTES = 16;
const SPAN_BYTES = 8;

/** Hexadecimal ids that are never all zero. */
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

  /** Not sliced from a larger string, which a stored id would keep in memory. */
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
