/** The events of one session that may have to be sent again; never more than a budget, responses before notices. */
import { type BudgetShare, UNLIMITED_SHARE } from "../../core/fair-share.js";
import type { MessageId } from "../../wire/envelope.js";
import { newLogName } from "./event-id.js";
import { type MessageText, sizeOf } from "./messages.js";

/** One event of a stream, kept for resumption. */
export interface LoggedEvent {
  readonly stream: number;
  readonly seq: number;
  readonly data: MessageText;
  /** The request to which it is the response, null where its id could not be read; absent for what is said before a response, or without a request. */
  readonly responseTo?: MessageId | null;
  /** Whether it was written to a connection that looked open. */
  sent?: boolean;
}

/** A response that is no longer kept. Its host gets an error in its place, as nothing else answers the request. */
export interface LostResponse {
  readonly stream: number;
  readonly seq: number;
  readonly responseTo: MessageId | null;
}

/** Limits of one session's log. */
export interface EventLogLimits {
  /** What all kept events of a session may weigh together, in characters and bytes. The newest is kept whatever it weighs. */
  readonly maxLength: number;
  readonly maxEvents: number;
}

/** Lost responses that are remembered, the newest. Each is two numbers and the id of a request. */
const MAX_LOST = 100;

/** The log of one session; it evicts notifications before responses. */
export class EventLog {
  /** Part of the ids of its events. */
  readonly name = newLogName();
  /** What is said before a response, or without a request; the oldest first. */
  #notices: LoggedEvent[] = [];
  #responses: LoggedEvent[] = [];
  #newest: LoggedEvent | undefined;
  #lost: LostResponse[] = [];
  #length = 0;
  #isOver = false;

  /** `memoryShare`: what all sessions of the principal may keep together; the events of this one make room in it. */
  constructor(
    private readonly limits: EventLogLimits,
    private readonly memoryShare: BudgetShare = UNLIMITED_SHARE,
  ) {}

  append(event: LoggedEvent): void {
    if (this.#isOver) return;
    const length = sizeOf(event.data);
    while (!this.memoryShare.reserve(length)) {
      if (this.#count === 0) {
        this.#recordLost(event);
        return;
      }
      this.#evict();
    }
    (isNotice(event) ? this.#notices : this.#responses).push(event);
    this.#newest = event;
    this.#length += length;
    while (this.#exceedsLimits()) this.#evict();
  }

  /** The session is over: no host can resume. */
  clear(): void {
    this.#isOver = true;
    this.memoryShare.release(this.#length);
    this.#length = 0;
    this.#notices = [];
    this.#responses = [];
    this.#newest = undefined;
  }

  /** What `stream` was given after the event `seq`, in order. */
  after(stream: number, seq: number): readonly (LoggedEvent | LostResponse)[] {
    const isAfter = (event: LoggedEvent | LostResponse): boolean =>
      event.stream === stream && event.seq > seq;
    const all = [this.#notices, this.#responses, this.#lost].flatMap((some) =>
      (some as readonly (LoggedEvent | LostResponse)[]).filter(isAfter),
    );
    return all.sort((a, b) => a.seq - b.seq);
  }

  has(stream: number): boolean {
    const isOf = (event: LoggedEvent): boolean => event.stream === stream;
    return this.#notices.some(isOf) || this.#responses.some(isOf);
  }

  /** Keeps nothing of `stream` but which requests were answered on it. */
  forget(stream: number): void {
    if (!this.has(stream)) return;
    for (const event of this.#responses) if (event.stream === stream) this.#recordLost(event);
    const isKept = (event: LoggedEvent): boolean => event.stream !== stream;
    this.#notices = this.#notices.filter(isKept);
    this.#responses = this.#responses.filter(isKept);
    if (this.#newest?.stream === stream) this.#newest = undefined;
    const left = lengthOf(this.#notices) + lengthOf(this.#responses);
    this.memoryShare.release(this.#length - left);
    this.#length = left;
  }

  /** How much is kept, in characters and bytes. */
  get length(): number {
    return this.#length;
  }

  get #count(): number {
    return this.#notices.length + this.#responses.length;
  }

  #exceedsLimits(): boolean {
    const { maxLength, maxEvents } = this.limits;
    return this.#count > 1 && (this.#length > maxLength || this.#count > maxEvents);
  }

  /**
   * Drops one event: the oldest notice; where there is none, the oldest response that was sent, as its host has it most
   * likely; then the newest event if it is a notice; and only then a response that was never sent.
   */
  #evict(): void {
    const event = this.#takeOldest();
    if (event === undefined) return;
    const length = sizeOf(event.data);
    this.#length -= length;
    this.memoryShare.release(length);
    this.#recordLost(event);
  }

  #takeOldest(): LoggedEvent | undefined {
    const [notice] = this.#notices;
    if (notice !== undefined && notice !== this.#newest) return this.#notices.shift();
    const sent = this.#responses.findIndex((event) => event.sent === true && event !== this.#newest);
    if (sent !== -1) return this.#responses.splice(sent, 1)[0];
    return this.#notices.pop() ?? this.#responses.shift();
  }

  #recordLost({ stream, seq, responseTo }: LoggedEvent): void {
    if (responseTo === undefined) return;
    this.#lost.push({ stream, seq, responseTo });
    if (this.#lost.length > MAX_LOST) this.#lost.shift();
  }
}

const isNotice = ({ responseTo }: LoggedEvent): boolean => responseTo === undefined;

const lengthOf = (events: readonly LoggedEvent[]): number =>
  events.reduce((sum, { data }) => sum + sizeOf(data), 0);
