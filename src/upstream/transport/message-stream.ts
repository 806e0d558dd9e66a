/** Which messages a server's event stream carries, and from which event it can be resumed. */

import type { DocumentSource } from "../../runtime/document-queue.js";
import { type Envelope, FrameError, type MessageId } from "../../wire/envelope.js";
import { MAX_EVENT_BYTES, type ReceivedEvent, SseReader } from "../../wire/sse.js";
import type { UnmatchedHandlers } from "./channel.js";
import { MessageReader } from "./message-reader.js";
import { printable } from "./recent-output.js";

/** Receives what a stream carries. */
export interface MessageSink {
  message(message: Envelope): void;
  /** An invalid response with this id arrived; returns true when its request was pending. */
  invalidResponse?(id: MessageId, error: FrameError): boolean;
  /** An event that is not a message, such as `endpoint` in the 2024-11-05 transport. */
  event?(name: string, data: string): void;
  /** An event exceeded `MAX_EVENT_BYTES`; the stream cannot be read further. */
  tooLong(): void;
}

const EXCERPT_LENGTH = 200;

/** Reads JSON-RPC messages from server-sent events, across resumed connections. */
export class MessageStream {
  readonly #sink: MessageSink;
  readonly #unmatched: UnmatchedHandlers;
  readonly #messages: MessageReader;
  #reader: SseReader | undefined;
  /** The event to resume after: the value for `Last-Event-ID`. */
  lastEventId: string | undefined;
  /** The server's `retry`: the delay before resuming, in milliseconds. */
  retryMs: number | undefined;
  /** Whether an event arrived since `begin`. */
  hasReceived = false;

  /** @param source the connection, which is paused while messages wait for later turns of the event loop */
  constructor(sink: MessageSink, unmatched: UnmatchedHandlers, source: DocumentSource) {
    this.#sink = sink;
    this.#unmatched = unmatched;
    this.#messages = new MessageReader(
      {
        message: (message) => sink.message(message),
        invalid: (data, error) => this.#onInvalid(data, error),
      },
      source,
    );
  }

  /** A connection begins: the first one, or one that resumes after `lastEventId`. */
  begin(): void {
    this.hasReceived = false;
    this.#reader = new SseReader({
      event: (event) => this.#event(event),
      retry: (ms) => {
        this.retryMs = ms;
      },
      tooLong: () => this.#sink.tooLong(),
    });
  }

  push(chunk: Buffer): void {
    this.#reader?.push(chunk);
  }

  /** The connection ended without an error. */
  end(): void {
    this.#reader?.end();
  }

  /** Calls `listener` when all messages that have arrived are delivered: at once where none waits. */
  whenIdle(listener: () => void): void {
    this.#messages.whenIdle(listener);
  }

  /** Drops the messages that wait. */
  clear(): void {
    this.#messages.clear();
  }

  #event({ id, event, data }: ReceivedEvent): void {
    this.hasReceived = true;
    if (id !== undefined) this.lastEventId = asHeader(id);
    if (event !== undefined && event !== "message") this.#sink.event?.(event, data.toString("utf8"));
    // An event without data only sets the id to resume after.
    else if (data.length > 0) this.#messages.push(data);
  }

  #onInvalid(data: Buffer, error: unknown): void {
    const isExpected =
      error instanceof FrameError &&
      error.id !== undefined &&
      this.#sink.invalidResponse?.(error.id, error) === true;
    if (!isExpected)
      this.#unmatched.onNonProtocolOutput?.(printable(data.toString("utf8", 0, EXCERPT_LENGTH)));
  }
}

const MAX_ID_BYTES = 4096;

/** The id as a header value, its UTF-8 bytes as latin1; `undefined` when empty, too long or not allowed in a header. */
function asHeader(id: string): string | undefined {
  const value = Buffer.from(id, "utf8").toString("latin1");
  return value.length <= MAX_ID_BYTES && /^[\t\x20-\x7e\x80-\xff]+$/.test(value) ? value : undefined;
}

/** For messages about an event that went over the limit. */
export const TOO_LONG = `an event longer than ${MAX_EVENT_BYTES} bytes`;
