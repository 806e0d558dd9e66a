/**
 * How is an event stream of a session kept beyond its connections? A host that lost the connection comes back with the id
 * of the last event it saw (2025-11-25, basic/transports, "Resumability and Redelivery").
 */
import type { ServerResponse } from "node:http";
import { GatewayError, refusalError } from "../../core/errors.js";
import { type IdKey, idKeyOf, type MessageId } from "../../wire/envelope.js";
import { eventPieces, formatComment, formatEvent } from "../../wire/sse.js";
import type { Backlog } from "../edge.js";
import { awaitedText, type StreamKind } from "./event-id.js";
import type { EventLog } from "./event-log.js";
import {
  bytesOf,
  errorText,
  type MessageText,
  ownText,
  piecesOf,
  STREAM_HEADERS,
  sizeOf,
} from "./messages.js";

/** Limits of one stream, and its metrics. */
export interface StreamSettings extends ConnectionLimits {
  /** When a host that lost its connection should come back, in ms. */
  readonly retryMs: number;
  readonly onOpen: (kind: StreamKind) => void;
  readonly onClose: (kind: StreamKind, ending: CloseReason) => void;
}

/** A stream that can be resumed on another connection. */
export class EventStream {
  #seq = 0;
  #connection: SseConnection | undefined;
  #finished = false;
  #deliveredAt: number | undefined;
  /** Requests that were answered, and with which event; made with the first of them. */
  #answered: ReadonlyMap<IdKey, number> = NONE_ANSWERED;
  /** As the ids of events have it before the first response. */
  readonly #awaitedText: string;

  constructor(
    /** Unique in its log. */
    readonly number: number,
    readonly kind: StreamKind,
    private readonly log: EventLog,
    private readonly settings: StreamSettings,
    /** Those to which responses may come here; an adopter of the session ends them. */
    private readonly requests: readonly MessageId[],
  ) {
    this.#awaitedText = awaitedText(requests);
  }

  get isConnected(): boolean {
    return this.#connection?.isOpen === true;
  }

  /** Whether it was given its last message. */
  get isFinished(): boolean {
    return this.#finished;
  }

  /** When a connected reader was given the last message, by `performance.now()`. */
  get deliveredAt(): number | undefined {
    return this.#deliveredAt;
  }

  /** Writes to a fresh connection. `prime` sends an event without data first, with an id to resume from. */
  open(response: ServerResponse, prime: boolean): void {
    this.#connect(response);
    if (!prime) return;
    this.#connection?.write(`retry: ${this.settings.retryMs}\n${formatEvent({ id: this.#id(0), data: "" })}`);
  }

  /**
   * Continues at another connection, with everything after the event `seq` first. False, and nothing is written, where the
   * stream has come to its end and the host has seen all of it.
   */
  resume(response: ServerResponse, seq: number): boolean {
    // The old connection may look alive from here long after the host has lost it.
    this.#connection?.end();
    const rest = this.log.after(this.number, seq);
    if (this.#finished && rest.length === 0) return false;
    this.#connect(response);
    for (const event of rest) {
      if ("data" in event) event.sent = true;
      this.#write(event.seq, "data" in event ? event.data : lostText(event.responseTo));
    }
    if (this.#finished) this.finish();
    return true;
  }

  /** `answers`: the request to which `text` is the response. */
  send(text: MessageText, responseTo?: MessageId | null): void {
    this.#seq += 1;
    const data = ownText(text);
    const sent = this.isConnected;
    const event = { stream: this.number, seq: this.#seq, data, sent };
    this.log.append(responseTo === undefined ? event : { ...event, responseTo });
    if (responseTo != null) this.#answered = new Map([...this.#answered, [idKeyOf(responseTo), this.#seq]]);
    this.#write(this.#seq, data);
  }

  /** Nothing more will be sent: ends the connection, now or after it was resumed. */
  finish(): void {
    this.#finished = true;
    if (this.isConnected) this.#deliveredAt = performance.now();
    this.#connection?.end();
  }

  #connect(response: ServerResponse): void {
    this.settings.onOpen(this.kind);
    this.#connection = new SseConnection(response, this.settings, (ending) =>
      this.settings.onClose(this.kind, ending),
    );
  }

  #write(seq: number, data: MessageText): void {
    if (this.#connection === undefined) return;
    const id = this.#id(seq);
    this.#connection.write(typeof data === "string" ? formatEvent({ id, data }) : eventPieces({ id }, data));
  }

  #id(seq: number): string {
    return `${this.kind}-${this.number}-${seq}-${this.log.name}${this.#awaitedAfter(seq)}`;
  }

  /** An event that is sent again says what was awaited after it then. */
  #awaitedAfter(seq: number): string {
    if (this.#answered.size === 0) return this.#awaitedText;
    const isAwaited = (id: MessageId): boolean => (this.#answered.get(idKeyOf(id)) ?? seq + 1) > seq;
    return awaitedText(this.requests.filter(isAwaited));
  }
}

const NONE_ANSWERED: ReadonlyMap<IdKey, number> = new Map();

/** In place of a response that was evicted before its host resumed the stream, or lost with its replica. */
export const lostText = (responseTo: MessageId | null): string => errorText(responseTo, refusalError(LOST));

const LOST = new GatewayError(
  "outcome_unknown",
  "gateway",
  "the response was lost with its connection and was not kept; the request may have run",
);

interface ConnectionLimits {
  /** Interval (ms) of comments, so that no proxy closes the stream as idle. */
  readonly keepAliveMs: number;
  /** With more than this waiting to be read, the next event cuts the connection. In bytes. */
  readonly maxWaitingBytes: number;
  /** A reader that reads nothing of the pending bytes for this time (ms) is disconnected. */
  readonly stallMs: number;
}

/** Why a connection came to its end; `ended` is our own doing. */
export type CloseReason = "ended" | "dropped" | "over_budget" | "stalled";

/** Writes events to one response, and closes it when its reader is too slow. */
export class SseConnection implements Backlog {
  readonly #keepAlive: NodeJS.Timeout;
  #stall: NodeJS.Timeout | undefined;
  #open = true;
  /** The bytes of a waiting event that is longer than the limit: later ones may wait behind it. */
  #longEvent = 0;
  #awaitingRead: (() => void)[] = NO_LISTENERS;

  /** `closed` is called once, when the connection is over for whatever reason. */
  constructor(
    private readonly response: ServerResponse,
    private readonly limits: ConnectionLimits,
    private readonly closed: (ending: CloseReason) => void,
  ) {
    response.writeHead(200, STREAM_HEADERS);
    response.flushHeaders();
    response.on("close", () => this.#close("dropped"));
    response.on("error", () => this.#close("dropped"));
    response.on("drain", () => this.#drained());
    this.#keepAlive = setInterval(() => this.#writeComment(), limits.keepAliveMs);
    this.#keepAlive.unref();
    if (response.destroyed) this.#close("dropped");
  }

  get isOpen(): boolean {
    return this.#open;
  }

  get unread(): number {
    return this.response.writableLength;
  }

  get isGone(): boolean {
    return !this.#open;
  }

  onceRead(listener: () => void): void {
    this.#awaitingRead = [...this.#awaitingRead, listener];
  }

  /**
   * Writes one event. The limit is checked before the event is added: a single large response may exceed it, else it could
   * never be delivered.
   */
  write(event: MessageText): void {
    if (!this.#open) return;
    const { maxWaitingBytes } = this.limits;
    if (this.response.writableLength > maxWaitingBytes + this.#longEvent) {
      this.#cut("over_budget");
      return;
    }
    // A string of the length n has n to 3n bytes.
    if (sizeOf(event) > maxWaitingBytes / 3) this.#longEvent = bytesOf(event);
    let hasRoom = true;
    for (const piece of piecesOf(event)) hasRoom = this.response.write(piece);
    if (!hasRoom) this.#stalls();
  }

  /** Ends the response properly, after what was written. */
  end(): void {
    if (!this.#open) return;
    // The stall timer stays: an end that is never read must not keep the socket open.
    this.response.end();
    this.#close("ended");
  }

  #writeComment(): void {
    if (!this.response.writableNeedDrain) this.write(formatComment());
  }

  #stalls(): void {
    if (this.#stall !== undefined) return;
    this.#stall = setTimeout(() => this.#cut("stalled"), this.limits.stallMs);
    this.#stall.unref();
  }

  #drained(): void {
    clearTimeout(this.#stall);
    this.#stall = undefined;
    this.#longEvent = 0;
    this.#notifyRead();
  }

  #notifyRead(): void {
    const listeners = this.#awaitingRead;
    this.#awaitingRead = NO_LISTENERS;
    for (const listener of listeners) listener();
  }

  #cut(ending: CloseReason): void {
    this.#close(ending);
    this.response.destroy();
  }

  #close(ending: CloseReason): void {
    if (ending !== "ended") clearTimeout(this.#stall);
    if (!this.#open) return;
    this.#open = false;
    clearInterval(this.#keepAlive);
    this.closed(ending);
    this.#notifyRead();
  }
}

const NO_LISTENERS: (() => void)[] = [];
