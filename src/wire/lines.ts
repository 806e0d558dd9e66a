/** Newline-delimited JSON: lines found in chunks of bytes, and documents written as one line. */
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
const SPACE = 32;
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

/**
 * JSON text without line breaks, which would end a line or an event. JSON escapes those inside strings, so the ones that are
 * left stand between tokens and mean nothing.
 */
export function oneLine(text: string): string;
export function oneLine(text: string | Buffer): string | Buffer;
export function oneLine(text: string | Buffer): string | Buffer {
  if (typeof text === "string") return /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, " ") : text;
  return text.includes(LF) || text.includes(CR) ? oneLine(text.toString("utf8")) : text;
}

/** The pieces of one JSON document as one line without its end; together they may be longer than a string can be. */
export function lineOf(pieces: readonly (string | Buffer)[]): string | Buffer {
  const [first] = pieces;
  if (pieces.length === 1 && typeof first === "string") return oneLine(first);
  const bytes = Buffer.concat(
    pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)),
  );
  for (const lineBreak of [LF, CR]) {
    for (let at = bytes.indexOf(lineBreak); at !== -1; at = bytes.indexOf(lineBreak, at + 1))
      bytes[at] = SPACE;
  }
  return bytes;
}
