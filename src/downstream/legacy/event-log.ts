/** The events of one session that may have to be sent once more, oldest first and never more than a budget. */

export interface LoggedEvent {
  readonly stream: number;
  readonly seq: number;
  readonly data: string;
}

export interface EventLogLimits {
  /** What all kept events of a session may weigh together, in characters. The newest is kept whatever it weighs. */
  readonly maxLength: number;
  readonly maxEvents: number;
}

export class EventLog {
  #events: LoggedEvent[] = [];
  #length = 0;

  constructor(private readonly limits: EventLogLimits) {}

  append(event: LoggedEvent): void {
    this.#events.push(event);
    this.#length += event.data.length;
    while (this.#isOver()) {
      const oldest = this.#events.shift();
      this.#length -= oldest?.data.length ?? 0;
    }
  }

  /** What `stream` was given after the event `seq`, in order. */
  after(stream: number, seq: number): readonly LoggedEvent[] {
    return this.#events.filter((event) => event.stream === stream && event.seq > seq);
  }

  /** Whether an event of `stream` is kept. */
  has(stream: number): boolean {
    return this.#events.some((event) => event.stream === stream);
  }

  forget(stream: number): void {
    if (!this.has(stream)) return;
    this.#events = this.#events.filter((event) => event.stream !== stream);
    this.#length = this.#events.reduce((sum, event) => sum + event.data.length, 0);
  }

  /** How much is kept, in characters. */
  get length(): number {
    return this.#length;
  }

  #isOver(): boolean {
    const { maxLength, maxEvents } = this.limits;
    return this.#events.length > 1 && (this.#length > maxLength || this.#events.length > maxEvents);
  }
}
