/** The messages in a server's event stream, and where the stream can be resumed when it drops. */
import { type Envelope, FrameError, type MessageId } from "../../wire/envelope.js";
import { readMessages } from "../../wire/message.js";
import { MAX_EVENT_LENGTH, type SseEvent, SseReader } from "../../wire/sse.js";

/** Told of what came and was of no use. */
export interface Leftovers {
  /** Something that is no message, with its beginning. */
  readonly onJunk?: (excerpt: string) => void;
  /** A message that nobody waited for: a response to no request in flight, say. */
  readonly onStray?: (message: Envelope) => void;
}

export interface MessageSink {
  message(message: Envelope): void;
  /** A response with this id came and cannot be used; true when it was waited for. */
  broken?(id: MessageId, error: FrameError): boolean;
  /** An event that is not a message, such as `endpoint` in the 2024-11-05 transport. */
  event?(name: string, data: string): void;
  /** An event went over `MAX_EVENT_LENGTH`; nothing more can be read. */
  tooLong(): void;
}

const JUNK_EXCERPT = 200;

export class MessageStream {
  readonly #sink: MessageSink;
  readonly #leftovers: Leftovers;
  #reader: SseReader | undefined;
  /** From which event on the server is to go on. */
  lastEventId: string | undefined;
  /** How long the server asks to wait before resuming, in milliseconds. */
  retryMs: number | undefined;
  /** Whether anything came since `begin`. */
  fruitful = false;

  constructor(sink: MessageSink, leftovers: Leftovers) {
    this.#sink = sink;
    this.#leftovers = leftovers;
  }

  /** A response begins: the stream, or what goes on from `lastEventId`. */
  begin(): void {
    this.fruitful = false;
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

  /** The response ended properly. */
  end(): void {
    this.#reader?.end();
  }

  #event(event: SseEvent): void {
    this.fruitful = true;
    // The empty id takes the last one back (HTML standard, "Server-sent events").
    if (event.id !== undefined) this.lastEventId = event.id === "" ? undefined : event.id;
    if (event.event !== undefined && event.event !== "message") {
      this.#sink.event?.(event.event, event.data);
      return;
    }
    // An event without data only tells an id to resume from.
    if (event.data !== "") this.#messages(event.data);
  }

  #messages(data: string): void {
    let messages: readonly Envelope[];
    try {
      messages = readMessages(data);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      const expected = error.id !== undefined && this.#sink.broken?.(error.id, error) === true;
      if (!expected) this.#leftovers.onJunk?.(data.slice(0, JUNK_EXCERPT));
      return;
    }
    for (const message of messages) this.#sink.message(message);
  }
}

/** For messages about an event that went over the limit. */
export const TOO_LONG = `an event longer than ${MAX_EVENT_LENGTH} characters`;
