/** Reads the lines of a log from one on, over all its files, while the log is written and rotated. */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { isObject } from "../../../wire/json.js";
import { parseJson, writeJson } from "../../../wire/json-text.js";
import { CHAIN_START, type ChainPosition } from "../line.js";
import { lastSeqOf, rotatedFiles } from "../names.js";

/** Lines that follow each other. */
export interface LineBatch {
  /** JSON, as in the file; a line that is no JSON is a JSON string. */
  readonly lines: readonly string[];
  /** The number of the first line. */
  readonly from: number;
  /** The last line of the chain. */
  readonly to: ChainPosition;
}

const MAX_LINES = 500;
const MAX_BYTES = 524_288;
const CHUNK = 1_048_576;
const NEWLINE = 0x0a;

/** Where the line after `last` begins, in a file known by its inode: the file is renamed when it is rotated. */
interface Place {
  /** Compared by identity: a batch without a line of the chain ends at the number at which it began. */
  readonly last: ChainPosition;
  readonly inode: number;
  readonly offset: number;
}

/** Reads one log. Not to be used twice at the same time. */
export class LogTail {
  readonly #file: string;
  /** Before and after the last batch: a batch that was not accepted is read again. */
  #places: readonly Place[] = [];

  readonly #lastSeq: () => number;

  /** @param lastSeq the number of the last line that was written. A line with a later one is none of the log. Default: not known */
  constructor(file: string, lastSeq: () => number = () => Number.POSITIVE_INFINITY) {
    this.#file = file;
    this.#lastSeq = lastSeq;
  }

  /**
   * The lines after `sent`, at most 500 or 512 KiB; undefined if there are none. Where the line `sent` is not the one that was read,
   * the log is another one, and is read from its beginning.
   *
   * @throws the system error
   */
  async after(sent: ChainPosition): Promise<LineBatch | undefined> {
    const path = await this.#pathOf(sent);
    const batch = await this.#read(path, sent);
    if (batch === "another log") return this.after(CHAIN_START);
    if (batch === undefined || batch.from === sent.seq + 1 || (await this.#pathOf(sent)) === path)
      return batch;
    // The file was rotated after its path was chosen.
    this.#places = [];
    return this.after(sent);
  }

  /** The file with the line after `sent`. */
  async #pathOf(sent: ChainPosition): Promise<string> {
    const rotated = await rotatedFiles(this.#file);
    return rotated.find((path) => lastSeqOf(path) > sent.seq) ?? this.#file;
  }

  async #read(path: string, sent: ChainPosition): Promise<LineBatch | "another log" | undefined> {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const { ino: inode } = await file.stat();
      const known = this.#places.find((place) => place.inode === inode && place.last === sent);
      const batch = new Batch(sent, known?.offset ?? 0, this.#lastSeq);
      await batch.read(file);
      if (batch.isOfAnotherLog) return "another log";
      this.#places = [
        { last: sent, inode, offset: batch.begin },
        { last: batch.last, inode, offset: batch.offset },
      ];
      return batch.result;
    } finally {
      await file.close();
    }
  }
}

/** Lines of one file, as they are read. */
class Batch {
  /** Where its first line begins, and its last one ends. */
  begin: number;
  offset: number;
  /** Its last line; the one before it where it has none. */
  last: ChainPosition;
  isOfAnotherLog = false;
  readonly #lines: string[] = [];
  readonly #sent: ChainPosition;
  readonly #lastSeq: () => number;
  #bytes = 0;
  #from = 0;

  constructor(sent: ChainPosition, offset: number, lastSeq: () => number) {
    this.#sent = sent;
    this.#lastSeq = lastSeq;
    this.last = sent;
    this.begin = offset;
    this.offset = offset;
  }

  get result(): LineBatch | undefined {
    return this.#lines.length === 0 ? undefined : { lines: this.#lines, from: this.#from, to: this.last };
  }

  /** Reads until it is full or the file ends. @throws the system error */
  async read(file: FileHandle): Promise<void> {
    let chunk = Buffer.allocUnsafe(CHUNK);
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, this.offset);
      const taken = this.#take(chunk.subarray(0, bytesRead));
      if (this.#isFull || this.isOfAnotherLog || bytesRead < chunk.length) return;
      if (taken === 0) chunk = Buffer.allocUnsafe(chunk.length * 2);
    }
  }

  get #isFull(): boolean {
    return this.#lines.length >= MAX_LINES || this.#bytes >= MAX_BYTES;
  }

  /** @returns how many bytes complete lines had */
  #take(bytes: Buffer): number {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      const text = bytes.toString("utf8", start, end);
      if (this.#lines.length > 0 && this.#bytes + text.length > MAX_BYTES) {
        this.#bytes = MAX_BYTES;
        break;
      }
      this.#add(text);
      start = end + 1;
      if (this.#lines.length === 0) this.begin = this.offset + start;
      if (this.#isFull || this.isOfAnotherLog) break;
    }
    this.offset += start;
    return start;
  }

  #add(text: string): void {
    const link = linkOf(text);
    // Lines behind one with a forged number would count as sent.
    const line = link !== undefined && link.seq <= this.#lastSeq() ? link : undefined;
    if (line !== undefined && line.seq <= this.#sent.seq) {
      this.isOfAnotherLog = line.seq > 0 && line.seq === this.#sent.seq && line.hash !== this.#sent.hash;
      return;
    }
    if (this.#lines.length === 0) this.#from = line?.seq ?? this.last.seq + 1;
    this.last = line ?? { ...this.last };
    this.#lines.push(line === undefined ? writeJson(text) : text);
    this.#bytes += text.length;
  }
}

/** The link of a line; undefined if it is none of the chain. */
function linkOf(text: string): ChainPosition | undefined {
  try {
    const value: unknown = parseJson(text);
    if (!isObject(value) || !Number.isSafeInteger(value.seq) || typeof value.hash !== "string")
      return undefined;
    return { seq: value.seq as number, hash: value.hash };
  } catch {
    // `audit verify` reports it.
    return undefined;
  }
}
