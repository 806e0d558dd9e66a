/** One HTTP response that is an event stream: opened, kept alive, and cut when its reader does not keep up. */
import type { ServerResponse } from "node:http";
import { formatComment } from "../../wire/sse.js";

/** Limits of one event stream connection. */
export interface ConnectionLimits {
  /** Interval (ms) of comments, so that no proxy closes the stream as idle. */
  readonly keepAliveMs: number;
  /** With more than this waiting to be read, the next event cuts the connection. In bytes. */
  readonly maxWaitingBytes: number;
  /** A reader that reads nothing of the pending bytes for this time (ms) is disconnected. */
  readonly stallMs: number;
}

/** Why a connection came to its end; `ended` is our own doing. */
export type CloseReason = "ended" | "dropped" | "over_budget" | "stalled";

/** The head of every event stream. */
export const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  // nginx buffers small writes without it.
  "x-accel-buffering": "no",
} as const;

/** Writes events to one response, and closes it when its reader is too slow. */
export class SseConnection {
  readonly #keepAlive: NodeJS.Timeout;
  #stall: NodeJS.Timeout | undefined;
  #open = true;

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

  /**
   * Writes one event. The limit is checked before the event is added: a single large response may exceed it, else it could
   * never be delivered.
   */
  write(event: string): void {
    if (!this.#open) return;
    if (this.response.writableLength > this.limits.maxWaitingBytes) this.#cut("over_budget");
    else if (!this.response.write(event)) this.#stalls();
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
  }
}
