/** How do the lines of a pipe, or the events of a stream, become messages that are delivered in order? */
import type { Steps } from "../../runtime/cooperative-yield.js";
import { DocumentQueue, type DocumentSource, deliverInSteps } from "../../runtime/document-queue.js";
import { type Batch, type Envelope, FrameError, isRequest } from "../../wire/envelope.js";
import { looksLikeMessage, readMessages, readMessagesInSteps } from "../../wire/message.js";

/** Receives what the documents hold; neither method may throw. */
export interface MessageReaderSink {
  message(message: Envelope): void;
  /** The document, or a message of it, is invalid; `error` is no FrameError where it could not be read at all. */
  invalid(document: Buffer, error: unknown): void;
}

/** Reads the documents of one stream. */
export class MessageReader extends DocumentQueue {
  readonly #sink: MessageReaderSink;

  constructor(sink: MessageReaderSink, source: DocumentSource) {
    super(source);
    this.#sink = sink;
  }

  protected override read(document: Buffer): number {
    if (!looksLikeMessage(document)) {
      this.#sink.invalid(document, undefined);
      return 1;
    }
    let messages: Batch;
    try {
      messages = readMessages(document);
    } catch (error) {
      this.#sink.invalid(document, error);
      return 1;
    }
    let weight = 0;
    for (const message of messages) weight += this.#deliver(document, message);
    return Math.max(1, weight);
  }

  protected override *readInSteps(document: Buffer): Steps<void> {
    if (!looksLikeMessage(document)) {
      this.#sink.invalid(document, undefined);
      return;
    }
    let messages: Batch;
    try {
      messages = yield* readMessagesInSteps(document);
    } catch (error) {
      this.#sink.invalid(document, error);
      return;
    }
    yield* deliverInSteps(messages, (message) => this.#deliver(document, message));
  }

  #deliver(document: Buffer, message: Envelope | FrameError): number {
    if (message instanceof FrameError) {
      this.#sink.invalid(document, message);
      return 1;
    }
    this.#sink.message(message);
    return weightOf(message);
  }
}

/** For how many messages one counts: the answer to a request is a message of its own, over HTTP an exchange of its own. */
export const weightOf = (message: Envelope): number => (isRequest(message) ? REQUEST_WEIGHT : 1);

const REQUEST_WEIGHT = 16;
