/** The event streams of one HTTP session: one per call that needs one, and those a GET opened. */
import type { ServerResponse } from "node:http";
import type { BudgetShare } from "../../core/fair-share.js";
import { ConditionVariable, type StopSignal } from "../../core/stop.js";
import type { MessageId } from "../../wire/envelope.js";
import { type EventId, readEventId, type StreamKind } from "./event-id.js";
import { EventLog, type EventLogLimits } from "./event-log.js";
import { EventStream, lostText, type StreamSettings } from "./event-stream.js";
import { type MessageText, type SessionSink, stringOf } from "./messages.js";

/** Limits of the streams of one session. */
export interface SessionStreamSettings extends StreamSettings {
  readonly log: EventLogLimits;
  /** GET streams that may be connected at once; a further one ends the oldest. */
  readonly maxGetStreams: number;
  /** A delivered stream can be resumed for this time (ms), in case its end was lost on the way. */
  readonly lingerMs: number;
}

/** Messages that wait for a first GET stream; list changes say little, so few are enough. */
const MAX_QUEUED = 100;
/** GET streams whose host is gone and may come back. */
const MAX_ABANDONED = 4;
/** Finished streams that can still be resumed. */
const MAX_FINISHED = 16;

/** The streams of one HTTP session, and the messages queued for a GET stream. */
export class SessionStreams implements SessionSink {
  onConnected: SessionSink["onConnected"];
  readonly #log: EventLog;
  readonly #streams = new Map<number, EventStream>();
  readonly #queued: string[] = [];
  readonly #streamChange = new ConditionVariable();
  #lastNumber = 0;
  #closed = false;

  constructor(
    private readonly settings: SessionStreamSettings,
    /** Whether the session's revision opens streams with an event without data. */
    private readonly primes: boolean,
    share?: BudgetShare,
    /** Whether another replica served the session before, so that the host may come back for its streams. */
    private readonly isAdopted = false,
  ) {
    this.#log = new EventLog(settings.log, share);
  }

  get isConnected(): boolean {
    return this.#getStreams().some(({ isConnected }) => isConnected);
  }

  get connectedCount(): number {
    return [...this.#streams.values()].filter((stream) => stream.isConnected).length;
  }

  /** A stream for what is sent before, and with, the responses to the requests of a POST. */
  openCallStream(response: ServerResponse, requests: readonly MessageId[]): EventStream {
    return this.#open("call", response, requests);
  }

  /** A stream for what belongs to no request. */
  openGetStream(response: ServerResponse): void {
    const connected = this.#getStreams().filter((stream) => stream.isConnected);
    if (connected.length >= this.settings.maxGetStreams) this.#end(connected[0]);
    this.#open("general", response);
    this.#flush();
  }

  /**
   * Resumes the stream of `lastEventId`. A GET stream that is no longer kept starts again, because a host that is refused
   * might never open another. For a call whose stream is not kept, or was another replica's, the host gets an error: the
   * response is lost.
   * `over`: the host has all events; `unknown`: there is no such stream.
   */
  resume(response: ServerResponse, lastEventId: string): "resumed" | "over" | "unknown" {
    const id = readEventId(lastEventId);
    if (id === undefined) return "unknown";
    const isOwn = id.log === this.#log.name;
    const stream = isOwn ? this.#streams.get(id.stream) : undefined;
    if (id.kind === "general" && stream?.kind !== "general") {
      this.openGetStream(response);
      return "resumed";
    }
    if (!isOwn) return this.isAdopted ? this.#endLost(response, id) : "unknown";
    const isKept = stream?.kind === id.kind;
    if (!isKept && this.#log.after(id.stream, id.seq).length === 0) return "unknown";
    const resumed = isKept ? stream : this.#endedCallStream(id);
    const goesOn = resumed.resume(response, id.seq);
    if (id.kind === "general") this.#flush();
    return goesOn ? "resumed" : "over";
  }

  /**
   * Says it on one GET stream (no message goes to two: 2025-11-25, basic/transports, "Multiple Connections"),
   * the youngest, which is the likeliest to be alive. With none connected it waits for the next one.
   */
  send(text: MessageText): boolean {
    if (this.#closed) return false;
    const stream = this.#getStreams().findLast(({ isConnected }) => isConnected);
    if (stream !== undefined) stream.send(text);
    else this.#queue(stringOf(text));
    return true;
  }

  async waitUntilConnected(waitMs: number, signal: StopSignal): Promise<boolean> {
    if (!this.isConnected && !this.#closed) await this.#streamChange.wait(waitMs, signal);
    return this.isConnected;
  }

  /** Drops streams that no host will resume: delivered ones after `lingerMs`, and all but the last of the rest. */
  sweep(): void {
    const over = performance.now() - this.settings.lingerMs;
    const streams = [...this.#streams.values()];
    const finished = streams.filter(({ isFinished }) => isFinished);
    for (const stream of finished) {
      if (stream.deliveredAt !== undefined && stream.deliveredAt <= over) this.#forget(stream);
    }
    for (const stream of finished.slice(0, -MAX_FINISHED)) this.#forget(stream);
    const abandoned = this.#getStreams().filter(({ isConnected }) => !isConnected);
    for (const stream of abandoned.slice(0, -MAX_ABANDONED)) this.#forget(stream);
  }

  /** Ends the GET streams; calls continue, and answer where they would have. */
  endGetStreams(): void {
    for (const stream of this.#getStreams()) this.#end(stream);
  }

  close(): void {
    this.#closed = true;
    for (const stream of this.#streams.values()) stream.finish();
    this.#streams.clear();
    this.#log.clear();
    this.#queued.length = 0;
    this.#streamChange.notifyAll();
  }

  /** The replica that had the stream of a call is gone, and what it answered with it. */
  #endLost(response: ServerResponse, { awaited }: EventId): "resumed" | "over" | "unknown" {
    if (awaited === undefined) return "unknown";
    if (awaited.length === 0) return "over";
    const stream = this.openCallStream(response, awaited);
    for (const id of awaited) stream.send(lostText(id), id);
    stream.finish();
    return "resumed";
  }

  #open(kind: StreamKind, response: ServerResponse, requests: readonly MessageId[] = []): EventStream {
    this.sweep();
    this.#lastNumber += 1;
    const stream = new EventStream(this.#lastNumber, kind, this.#log, this.settings, requests);
    this.#streams.set(stream.number, stream);
    stream.open(response, this.primes);
    return stream;
  }

  /** The stream of a call that is no longer kept, to say what became of its response. */
  #endedCallStream({ stream: number, awaited = [] }: EventId): EventStream {
    const stream = new EventStream(number, "call", this.#log, this.settings, awaited);
    stream.finish();
    return stream;
  }

  #getStreams(): EventStream[] {
    return [...this.#streams.values()].filter(({ kind }) => kind === "general");
  }

  #flush(): void {
    for (const text of this.#queued.splice(0)) this.send(text);
    this.#streamChange.notifyAll();
    this.onConnected?.();
  }

  /** A message that is queued already is not queued again: one `list_changed` is enough. */
  #queue(text: string): void {
    if (this.#queued.includes(text)) return;
    this.#queued.push(text);
    if (this.#queued.length > MAX_QUEUED) this.#queued.shift();
  }

  #end(stream: EventStream | undefined): void {
    if (stream === undefined) return;
    stream.finish();
    this.#forget(stream);
  }

  #forget(stream: EventStream): void {
    this.#streams.delete(stream.number);
    this.#log.forget(stream.number);
  }
}
