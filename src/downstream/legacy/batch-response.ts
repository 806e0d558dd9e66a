/**
 * The response to a POST with a batch: one JSON array, or an event for each answer, written as the host reads. A short array
 * is sent as a whole; a longer one is begun before its end is known.
 */
import type { ServerResponse } from "node:http";
import { refusalError } from "../../core/errors.js";
import { ConditionVariable } from "../../core/stop.js";
import type { CoarseTimer } from "../../runtime/coarse-timers.js";
import type { MessageId } from "../../wire/envelope.js";
import { type BatchDelivery, LONGEST_WAIT_MS, NEVER } from "./batch-run.js";
import type { EventStream } from "./event-stream.js";
import {
  arrayOf,
  CANCELLED,
  errorText,
  type MessageText,
  PostResponseSink,
  type PostSettings,
  piecesOf,
  type ResponsePlaces,
  type ResponseSink,
  respondJson,
  STREAM_HEADERS,
  sizeOf,
} from "./messages.js";
import type { SessionStreams } from "./session-streams.js";

/** Answers that wait for the others, in characters or bytes together; beyond, they are written one by one. */
const MAX_BUFFERED = 16 * 1024 * 1024;
/** With more than this waiting to be read, the next answer waits. In bytes. */
const MAX_WRITTEN = 512 * 1024;

interface QueuedMessage {
  readonly text: MessageText;
  readonly size: number;
  /** The request that it answers; undefined for what is no answer. */
  readonly id?: MessageId | null;
}

/** The response to one POST with several requests. */
export class BatchResponse implements ResponsePlaces, BatchDelivery {
  readonly #change = new ConditionVariable();
  readonly #queue: QueuedMessage[] = [];
  readonly #streamTimer: CoarseTimer | undefined;
  #queued = 0;
  #stream: EventStream | undefined;
  /** Whether the array was begun, and how many answers it has. */
  #arrayLength: number | undefined;
  #pending: number;
  #finished = false;
  #stall: NodeJS.Timeout | undefined;
  readonly #cancelled: (MessageId | null)[] = [];

  /** `stallMs`: a host that reads nothing of an array for this time is disconnected. */
  constructor(
    private readonly response: ServerResponse,
    private readonly streams: SessionStreams,
    private readonly settings: PostSettings,
    private readonly requests: readonly (MessageId | null)[],
    private readonly stallMs: number,
  ) {
    this.#pending = requests.length;
    response.on("drain", () => this.#write());
    response.once("close", () => {
      clearTimeout(this.#stall);
      this.#write();
    });
    if (!settings.json) this.#openStream();
    else if (settings.streamable) {
      this.#streamTimer = settings.timers.set(settings.streamAfterMs, () => this.#openStream());
    }
  }

  get undelivered(): number {
    return this.#queued + (this.response.destroyed ? 0 : this.response.writableLength);
  }

  get isGone(): boolean {
    return this.response.destroyed;
  }

  changed(): void {
    this.#change.notifyAll();
  }

  whenChanged(): Promise<void> {
    return this.#change.wait(LONGEST_WAIT_MS, NEVER);
  }

  sinkFor(id: MessageId | null): ResponseSink {
    return new PostResponseSink(this, id);
  }

  send(text: MessageText): boolean {
    const { streamable } = this.settings;
    const canStream = this.#arrayLength === undefined && streamable;
    if (this.#stream === undefined && (!canStream || this.response.destroyed)) {
      return this.streams.isConnected && this.streams.send(text);
    }
    this.#openStream();
    this.#add({ text, size: sizeOf(text) });
    return true;
  }

  respond(id: MessageId | null, text: MessageText): void {
    this.#add({ text, id, size: sizeOf(text) });
  }

  skipResponse(id: MessageId | null): void {
    this.#cancelled.push(id);
    this.sinkDone();
  }

  sinkDone(): void {
    this.#pending -= 1;
    if (this.#pending === 0) this.#write();
  }

  #add(message: QueuedMessage): void {
    this.#queue.push(message);
    this.#queued += message.size;
    if (this.#queued > MAX_BUFFERED && this.#stream === undefined && this.#arrayLength === undefined) {
      if (this.settings.streamable) this.#openStream();
      else this.#openArray();
    }
    this.#write();
  }

  #openStream(): void {
    if (this.#stream !== undefined || this.#arrayLength !== undefined || this.response.destroyed) return;
    this.#streamTimer?.clear();
    const ids = this.requests.filter((id) => id !== null);
    this.#stream = this.streams.openCallStream(this.response, ids);
    this.#write();
  }

  #openArray(): void {
    this.#arrayLength = 0;
    if (!this.response.destroyed) this.response.writeHead(200, ["content-type", "application/json"]);
  }

  /** Writes as much as the host reads, and the end after the last. */
  #write(): void {
    if (this.#stream === undefined && this.#arrayLength === undefined) {
      if (this.#pending === 0) this.#respondAtOnce();
      return;
    }
    while (this.#queue.length > 0 && this.#mayWrite()) {
      const { text, size, id } = this.#queue.shift() as QueuedMessage;
      this.#queued -= size;
      // A stream whose host is gone keeps the answer, for the case that it is resumed.
      if (this.#stream !== undefined) this.#stream.send(text, id);
      else this.#writeElement(text);
    }
    this.#watchStall();
    if (this.#pending === 0 && this.#queue.length === 0) this.#finish();
    this.changed();
  }

  #mayWrite(): boolean {
    return this.response.destroyed || this.response.writableLength < MAX_WRITTEN;
  }

  #writeElement(text: MessageText): void {
    const isFirst = this.#arrayLength === 0;
    this.#arrayLength = (this.#arrayLength ?? 0) + 1;
    if (this.response.destroyed) return;
    this.response.write(isFirst ? "[" : ",");
    for (const piece of piecesOf(text)) this.response.write(piece);
  }

  /** An event stream has a watch of its own. */
  #watchStall(): void {
    clearTimeout(this.#stall);
    if (this.#stream !== undefined || this.response.destroyed || !this.response.writableNeedDrain) return;
    this.#stall = setTimeout(() => this.response.destroy(), this.stallMs);
    this.#stall.unref();
  }

  #finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#streamTimer?.clear();
    if (this.#stream !== undefined) this.#stream.finish();
    else if (!this.response.destroyed) this.response.end(this.#arrayLength === 0 ? "[]" : "]");
  }

  #respondAtOnce(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#streamTimer?.clear();
    this.changed();
    if (this.response.destroyed) return;
    const texts = this.#queue.splice(0).map(({ text }) => text);
    if (texts.length > 0) respondJson(this.response, 200, arrayOf(texts));
    else if (this.settings.streamable) this.response.writeHead(200, STREAM_HEADERS).end();
    // JSON cannot say nothing.
    else {
      const errors = this.#cancelled.map((id) => errorText(id, refusalError(CANCELLED)));
      respondJson(this.response, 200, arrayOf(errors));
    }
  }
}
