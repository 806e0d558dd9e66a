/** The events of one session that may have to be sent once more; never more than a budget, responses before notices. */
import { KEEPS_ALL, type KeptShare } from "../../core/kept-budget.js";
import type { MessageId } from "../../wire/message-id.js";

export interface LoggedEvent {
  readonly stream: number;
  readonly seq: number;
  readonly data: string;
  /** The request to which it is the response, null where its id could not be read; absent for what is said before a response, or without a request. */
  readonly answers?: MessageId | null;
  /** Whether it was written to a connection that looked open. */
  sent?: boolean;
}

/** A response that is not kept any more. Its host is to be told so, because nothing else will answer the request. */
export interface LostResponse {
  readonly stream: number;
  readonly seq: number;
  readonly answers: MessageId | null;
}

export interface EventLogLimits {
  /** What all kept events of a session may weigh together, in characters. The newest is kept whatever it weighs. */
  readonly maxLength: number;
  readonly maxEvents: number;
}

/** Lost responses that are remembered, the newest. Each is two numbers and the id of a request. */
const MAX_LOST = 100;

export class EventLog {
  #events: LoggedEvent[] = [];
  #lost: LostResponse[] = [];
  #length = 0;

  /** `share`: what all sessions of the principal may keep together; the events of this one make room in it. */
  constructor(
    private readonly limits: EventLogLimits,
    private readonly share: KeptShare = KEEPS_ALL,
  ) {}

  append(event: LoggedEvent): void {
    const { length } = event.data;
    while (!this.share.take(length)) {
      if (this.#events.length === 0) {
        this.#noteLost(event);
        return;
      }
      this.#evict();
    }
    this.#events.push(event);
    this.#length += length;
    while (this.#isOver()) this.#evict();
  }

  /** Nobody will come back for anything. */
  clear(): void {
    this.share.give(this.#length);
    this.#length = 0;
    this.#events = [];
  }

  /** What `stream` was given after the event `seq`, in order. */
  after(stream: number, seq: number): readonly (LoggedEvent | LostResponse)[] {
    const isAfter = (event: LoggedEvent | LostResponse): boolean =>
      event.stream === stream && event.seq > seq;
    const kept = this.#events.filter(isAfter);
    const lost = this.#lost.filter(isAfter);
    return lost.length === 0 ? kept : [...kept, ...lost].sort((a, b) => a.seq - b.seq);
  }

  /** Whether an event of `stream` is kept. */
  has(stream: number): boolean {
    return this.#events.some((event) => event.stream === stream);
  }

  /** Keeps nothing of `stream` but which requests were answered on it. */
  forget(stream: number): void {
    if (!this.has(stream)) return;
    for (const event of this.#events) if (event.stream === stream) this.#noteLost(event);
    this.#events = this.#events.filter((event) => event.stream !== stream);
    const left = this.#events.reduce((sum, event) => sum + event.data.length, 0);
    this.share.give(this.#length - left);
    this.#length = left;
  }

  /** How much is kept, in characters. */
  get length(): number {
    return this.#length;
  }

  #isOver(): boolean {
    const { maxLength, maxEvents } = this.limits;
    return this.#events.length > 1 && (this.#length > maxLength || this.#events.length > maxEvents);
  }

  /**
   * Drops one event: the oldest notice; where there is none, the oldest response that was sent, as its host has it most
   * likely; then the newest event if it is a notice; and only then a response that nobody was there to read.
   */
  #evict(): void {
    const newest = this.#events.length - 1;
    const before = (isIt: (event: LoggedEvent) => boolean): number | undefined => {
      const at = this.#events.findIndex((event, index) => index < newest && isIt(event));
      return at === -1 ? undefined : at;
    };
    const isNotice = ({ answers }: LoggedEvent): boolean => answers === undefined;
    const at = before(isNotice) ?? before(({ sent }) => sent === true) ?? this.#newestNotice(newest) ?? 0;
    const [event] = this.#events.splice(at, 1);
    if (event === undefined) return;
    this.#length -= event.data.length;
    this.share.give(event.data.length);
    this.#noteLost(event);
  }

  #newestNotice(newest: number): number | undefined {
    return this.#events[newest]?.answers === undefined ? newest : undefined;
  }

  #noteLost({ stream, seq, answers }: LoggedEvent): void {
    if (answers === undefined) return;
    this.#lost.push({ stream, seq, answers });
    if (this.#lost.length > MAX_LOST) this.#lost.shift();
  }
}
