/**
 * One event stream of a session. It outlives the connection it is written to: a host that lost the connection
 * comes back with the id of the last event it saw (2025-11-25, basic/transports, "Resumability and Redelivery").
 */
import type { ServerResponse } from "node:http";
import { GatewayError, refusalError } from "../../core/errors.js";
import type { MessageId } from "../../wire/envelope.js";
import { formatEvent } from "../../wire/sse.js";
import type { EventLog } from "./event-log.js";
import { errorText, type MessageText, stringOf } from "./message-text.js";
import { type CloseReason, type ConnectionLimits, SseConnection } from "./sse-connection.js";

/** `call`: what was sent with, and instead of, the JSON answer to a POST. `general`: a GET. */
export type StreamKind = "call" | "general";

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

  constructor(
    /** Unique in its session; the first half of its events' ids. */
    readonly number: number,
    readonly kind: StreamKind,
    private readonly log: EventLog,
    private readonly settings: StreamSettings,
  ) {}

  /** Whether a host is connected. */
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
   * Goes on at another connection, with everything after the event `seq` first. False, and nothing is written, where the
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
    const data = stringOf(text);
    const sent = this.isConnected;
    const event = { stream: this.number, seq: this.#seq, data, sent };
    this.log.append(responseTo === undefined ? event : { ...event, responseTo });
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

  #write(seq: number, data: string): void {
    this.#connection?.write(formatEvent({ id: this.#id(seq), data }));
  }

  #id(seq: number): string {
    return `${this.kind}-${this.number}-${seq}`;
  }
}

/** In the place of a response that was given up before its host came back for it. */
const lostText = (responseTo: MessageId | null): string => errorText(responseTo, refusalError(LOST));

const LOST = new GatewayError(
  "outcome_unknown",
  "gateway",
  "the response was lost with its connection, and was too much to be kept; the request may have been carried out",
);

/** The parts of an event id. */
export interface EventId {
  readonly kind: StreamKind;
  readonly stream: number;
  readonly seq: number;
}

/** What the id of an event says; undefined when it is none of ours. */
export function readEventId(id: string): EventId | undefined {
  const found = /^(call|general)-(\d{1,15})-(\d{1,15})$/.exec(id);
  if (found === null) return undefined;
  return { kind: found[1] === "call" ? "call" : "general", stream: Number(found[2]), seq: Number(found[3]) };
}
