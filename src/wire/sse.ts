/** Server-sent events in both directions: bytes read into events, events written as text. */
import { StringDecoder } from "node:string_decoder";
import { createParser, type EventSourceParser } from "eventsource-parser";

/** The longest event that is taken, in characters. */
export const MAX_EVENT_LENGTH = 64 * 1024 * 1024;

export interface SseEvent {
  readonly id?: string | undefined;
  /** `undefined` stands for `message`. */
  readonly event?: string | undefined;
  readonly data: string;
}

export interface SseSink {
  event(event: SseEvent): void;
  /** The server asks to wait this long before connecting again, in milliseconds. */
  retry?(ms: number): void;
  /** An event went over the limit; nothing more can be read from this stream. */
  tooLong(): void;
}

/** Reads events from bytes, however they are cut into chunks. */
export class SseReader {
  readonly #decoder = new StringDecoder("utf8");
  readonly #parser: EventSourceParser;
  #first = true;
  #dead = false;

  constructor(sink: SseSink, limit: number = MAX_EVENT_LENGTH) {
    this.#parser = createParser({
      maxBufferSize: limit,
      onEvent: (event) => sink.event(event),
      onRetry: (ms) => sink.retry?.(ms),
      onError: (error) => {
        if (error.type !== "max-buffer-size-exceeded") return;
        this.#dead = true;
        sink.tooLong();
      },
    });
  }

  push(chunk: Buffer): void {
    this.#feed(this.#decoder.write(chunk));
  }

  /**
   * The stream ended properly. The standard drops an event that no empty line ended; here it is handed on,
   * because there are servers that end their stream right after the last line of data.
   */
  end(): void {
    this.#feed(`${this.#decoder.end()}\n\n`);
  }

  #feed(text: string): void {
    if (this.#dead || text === "") return;
    const bom = this.#first && text.charCodeAt(0) === 0xfeff;
    this.#first = false;
    this.#parser.feed(bom ? text.slice(1) : text);
  }
}

/**
 * One event as text. Line breaks in `data` become lines of data; in `id` and `event`, where they would begin
 * a field of the writer's own choosing, they are refused.
 *
 * @throws TypeError when `id` or `event` cannot be written.
 */
export function formatEvent(event: SseEvent): string {
  const head =
    (event.id === undefined ? "" : field("id", event.id)) +
    (event.event === undefined ? "" : field("event", event.event));
  // JSON text has no line breaks, so this is the ordinary case.
  if (!event.data.includes("\n") && !event.data.includes("\r")) return `${head}data: ${event.data}\n\n`;
  return `${head}${linesOf(event.data)
    .map((line) => `data: ${line}\n`)
    .join("")}\n`;
}

/** A comment, which readers ignore; it keeps a quiet connection open. */
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
