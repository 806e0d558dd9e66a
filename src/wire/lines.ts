/** Lines of bytes, as newline-delimited JSON comes over a pipe: found however the bytes are cut into chunks. */
import { BoundedBuffer } from "./bounded-buffer.js";

/** The longest line that is taken; a longer one is skipped up to its end. In bytes. */
export const MAX_LINE_BYTES = 10 * 1024 * 1024;

export interface LineSink {
  /** One line without its end (LF or CR LF), never empty. The bytes are not written to again. */
  line(bytes: Buffer): void;
  /** A line went over the limit; called once for it, and nothing of it is handed on. */
  tooLong(): void;
}

const LF = 10;
const CR = 13;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** Cuts a stream of chunks into lines. Holds at most one unfinished line, and never more than `limit` bytes. */
export class LineSplitter {
  readonly #sink: LineSink;
  readonly #limit: number;
  readonly #held: BoundedBuffer;
  #skipping = false;
  #first = true;

  constructor(sink: LineSink, limit: number = MAX_LINE_BYTES) {
    this.#sink = sink;
    this.#limit = limit;
    this.#held = new BoundedBuffer(limit);
  }

  push(chunk: Buffer): void {
    let start = 0;
    let end = chunk.indexOf(LF);
    while (end !== -1) {
      if (this.#skipping) this.#skipping = false;
      else if (this.#held.length === 0 && end - start <= this.#limit) this.#emit(chunk.subarray(start, end));
      else if (this.#held.append(chunk, start, end)) this.#emit(this.#held.take());
      else this.#sink.tooLong();
      start = end + 1;
      end = chunk.indexOf(LF, start);
    }
    if (start === chunk.length || this.#skipping || this.#held.append(chunk, start)) return;
    this.#skipping = true;
    this.#sink.tooLong();
  }

  /** The stream ended; what stands without a line end is a line too. */
  end(): void {
    if (this.#held.length > 0) this.#emit(this.#held.take());
    this.#skipping = false;
  }

  #emit(bytes: Buffer): void {
    let line = bytes;
    if (this.#first) {
      this.#first = false;
      if (line.subarray(0, BOM.length).equals(BOM)) line = line.subarray(BOM.length);
    }
    if (line.length > 0 && line[line.length - 1] === CR) line = line.subarray(0, -1);
    if (line.length > 0) this.#sink.line(line);
  }
}
