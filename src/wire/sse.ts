/** How are server-sent events written and read (HTML standard, "Server-sent events")? */
import { BoundedBuffer } from "./bounded-buffer.js";
import { oneLine } from "./lines.js";

/** One event. */
export interface SseEvent {
  readonly id?: string | undefined;
  /** `undefined` stands for `message`. */
  readonly event?: string | undefined;
  readonly data: string;
}

/**
 * One event as text. Line breaks in `data` become several `data` lines; in `id` and `event` they are refused, because
 * they would inject fields.
 *
 * @throws TypeError if `id` or `event` cannot be written.
 */
export function formatEvent(event: SseEvent): string {
  const head = headOf(event);
  // The fast path: JSON text has no line breaks.
  if (!event.data.includes("\n") && !event.data.includes("\r")) return `${head}data: ${event.data}\n\n`;
  return `${head}${linesOf(event.data)
    .map((line) => `data: ${line}\n`)
    .join("")}\n`;
}

/**
 * One event with a JSON document as its data, in pieces that are not copied.
 *
 * @throws TypeError if `id` or `event` cannot be written.
 */
export const eventPieces = (
  event: Omit<SseEvent, "data">,
  json: readonly (string | Buffer)[],
): readonly (string | Buffer)[] => [`${headOf(event)}data: `, ...json.map((piece) => oneLine(piece)), "\n\n"];

const headOf = ({ id, event }: Omit<SseEvent, "data">): string =>
  (id === undefined ? "" : field("id", id)) + (event === undefined ? "" : field("event", event));

/** A comment, which clients ignore; used as keep-alive. */
export function formatComment(text = ""): string {
  return `${linesOf(text)
    .map((line) => `: ${line}\n`)
    .join("")}\n`;
}

function field(name: "id" | "event", value: string): string {
  if (/[\r\n\0]/.test(value)) throw new TypeError(`the ${name} of an event must be one line`);
  return `${name}: ${value}\n`;
}

function linesOf(text: string): string[] {
  return text.split(/\r\n|\r|\n/);
}

/** Limit of one event, in bytes. */
export const MAX_EVENT_BYTES = 64 * 1024 * 1024;

/** One event. */
export interface ReceivedEvent {
  /** The empty string resets the last event id. */
  readonly id: string | undefined;
  /** `undefined` stands for `message`. */
  readonly event: string | undefined;
  /** Not written to again. */
  readonly data: Buffer;
}

interface SseSink {
  /** Also called for an event with an id and without data: the stream can be resumed after it. */
  event(event: ReceivedEvent): void;
  /** The reconnection time (ms) the server asks for. */
  retry?(ms: number): void;
  /** An event is over the limit; the stream cannot be read further. */
  tooLong(): void;
}

const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const NONE = Buffer.alloc(0);
const LINE_FEED = Buffer.from("\n");

const DATA = Buffer.from("data");
const EVENT = Buffer.from("event");
const ID = Buffer.from("id");
const RETRY = Buffer.from("retry");

/** The parser of one event stream. */
export class SseReader {
  readonly #sink: SseSink;
  /** The unfinished line. */
  readonly #line: BoundedBuffer;
  #first = true;
  #afterCr = false;
  #dead = false;

  #id: string | undefined;
  #event: string | undefined;
  /** The first line of data, as a view; when there are several, all of them are in `#lines`. */
  #data: Buffer | undefined;
  readonly #lines: BoundedBuffer;

  constructor(sink: SseSink, limit: number = MAX_EVENT_BYTES) {
    this.#sink = sink;
    this.#line = new BoundedBuffer(limit);
    this.#lines = new BoundedBuffer(limit);
  }

  push(chunk: Buffer): void {
    if (this.#dead || chunk.length === 0) return;
    let start = this.#afterCr && chunk[0] === LF ? 1 : 0;
    this.#afterCr = false;
    // Few servers end lines with CR; without one, the native search is used.
    const crs = chunk.includes(CR, start);
    for (;;) {
      const end = crs ? endOfLine(chunk, start) : chunk.indexOf(LF, start);
      if (end === -1) break;
      this.#take(chunk, start, end);
      if (this.#dead) return;
      start = end + 1;
      if (chunk[end] !== CR) continue;
      if (start === chunk.length) this.#afterCr = true;
      else if (chunk[start] === LF) start++;
    }
    if (start < chunk.length && !this.#line.append(chunk, start)) this.#giveUp();
  }

  /**
   * The stream ended normally. The standard drops an event without a final empty line; here it is delivered, because some
   * servers end their stream right after the last line of data.
   */
  end(): void {
    if (this.#dead) return;
    if (this.#line.length > 0) this.#take(NONE, 0, 0);
    if (!this.#dead) this.#dispatch();
  }

  /** A line ends at `end`; earlier chunks of it are in `#line`. */
  #take(chunk: Buffer, start: number, end: number): void {
    if (this.#line.length === 0) this.#read(chunk, start, end);
    else if (this.#line.append(chunk, start, end)) {
      const line = this.#line.take();
      this.#read(line, 0, line.length);
    } else this.#giveUp();
  }

  #read(bytes: Buffer, from: number, end: number): void {
    let start = from;
    if (this.#first) {
      this.#first = false;
      if (bytes.subarray(start, Math.min(end, start + BOM.length)).equals(BOM)) start += BOM.length;
    }
    if (start === end) {
      this.#dispatch();
    } else if (isField(DATA, bytes, start, end)) {
      this.#addData(bytes, valueAfter(DATA, bytes, start, end), end);
    } else if (isField(EVENT, bytes, start, end)) {
      this.#event = bytes.toString("utf8", valueAfter(EVENT, bytes, start, end), end) || undefined;
    } else if (isField(ID, bytes, start, end)) {
      const id = bytes.toString("utf8", valueAfter(ID, bytes, start, end), end);
      if (!id.includes("\0")) this.#id = id;
    } else if (isField(RETRY, bytes, start, end)) {
      const ms = bytes.toString("latin1", valueAfter(RETRY, bytes, start, end), end);
      if (/^\d+$/.test(ms)) this.#sink.retry?.(Number(ms));
    }
  }

  #addData(bytes: Buffer, start: number, end: number): void {
    if (this.#data === undefined) {
      this.#data = bytes.subarray(start, end);
      return;
    }
    const lines = this.#lines;
    const fits =
      (lines.length > 0 || lines.append(this.#data)) &&
      lines.append(LINE_FEED) &&
      lines.append(bytes, start, end);
    if (!fits) this.#giveUp();
  }

  #dispatch(): void {
    const id = this.#id;
    const event = this.#event;
    const data = this.#lines.length > 0 ? this.#lines.take() : this.#data;
    this.#id = undefined;
    this.#event = undefined;
    this.#data = undefined;
    if (data !== undefined || id !== undefined) this.#sink.event({ id, event, data: data ?? NONE });
  }

  #giveUp(): void {
    this.#dead = true;
    this.#line.take();
    this.#lines.take();
    this.#data = undefined;
    this.#sink.tooLong();
  }
}

function endOfLine(bytes: Buffer, start: number): number {
  for (let i = start; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === LF || byte === CR) return i;
  }
  return -1;
}

/** Whether the line is this field, with a value or without. */
function isField(name: Buffer, bytes: Buffer, start: number, end: number): boolean {
  const colon = start + name.length;
  if (colon > end || (colon < end && bytes[colon] !== COLON)) return false;
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name[i]) return false;
  return true;
}

/** The start of the value: after the colon and an optional space. */
function valueAfter(name: Buffer, bytes: Buffer, start: number, end: number): number {
  const value = Math.min(end, start + name.length + 1);
  return value < end && bytes[value] === SPACE ? value + 1 : value;
}
