/**
 * The response to one POST: a single JSON document, or a stream of server-sent events when a notification comes before it
 * (spec 2026-07-28: basic/transports/streamable-http, "Receiving Messages").
 */
import type { ServerResponse } from "node:http";
import { GatewayError } from "../../core/errors.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import type { CoarseTimer, CoarseTimers } from "../../runtime/coarse-timers.js";
import { oneLine } from "../../wire/lines.js";
import { sendJson } from "../edge.js";
import type { SerializedResponse } from "./write-reply.js";

/** Time and size limits of one response stream. */
export interface StreamLimits {
  /** Interval (ms) of the comments that keep a quiet response open. */
  readonly keepAliveMs: number;
  readonly timers: CoarseTimers;
  /** With more than this unread (bytes) the next event closes the connection. */
  readonly maxUnreadBytes: number;
  /** Called when a response becomes a stream (1) and when that stream ends (-1). */
  readonly onCount: (change: 1 | -1) => void;
  /** Called when a connection is closed because of `maxUnreadBytes`. */
  readonly onTooSlow: () => void;
}

/** The `WWW-Authenticate` header that requests a token with these scopes. */
type Challenge = (scopes: readonly string[]) => string;

/** The response stream of one request; it ends with the response, or when the client closes it. */
export class EventStream implements ResponseSink {
  readonly #response: ServerResponse;
  readonly #limits: StreamLimits;
  readonly #challenge: Challenge;
  readonly #stop = new Stop();
  readonly #keepAliveTimer: CoarseTimer;
  #streaming = false;
  #ended = false;

  constructor(response: ServerResponse, limits: StreamLimits, challenge: Challenge) {
    this.#response = response;
    this.#limits = limits;
    this.#challenge = challenge;
    // Clients time out without a byte (undici: 300 s for the headers alone), so a slow response becomes a stream too.
    this.#keepAliveTimer = limits.timers.set(limits.keepAliveMs, () => this.#sendKeepAlive());
    response.once("close", () => this.#onClose());
    if (response.destroyed) this.#onClose();
  }

  /** Aborted when the client closes the stream before its response: in this era that cancels the request. */
  get signal(): StopSignal {
    return this.#stop.signal;
  }

  /** Sends one message before the response; after the response messages are dropped. */
  send(message: string): void {
    this.#write(`data: ${oneLine(message)}\n\n`);
  }

  respond({ status, pieces, scopes, retryAfterMs }: SerializedResponse): void {
    if (this.#ended) return;
    this.#end();
    const response = this.#response;
    if (response.destroyed) return;
    if (this.#streaming) {
      sendAll(response, ["data: ", ...pieces.map(oneLine), "\n\n"]);
      return;
    }
    if (scopes !== undefined) response.setHeader("www-authenticate", this.#challenge(scopes));
    if (status === 503 && retryAfterMs !== undefined) {
      response.setHeader("retry-after", Math.ceil(retryAfterMs / 1000));
    }
    sendJson(response, status, pieces);
  }

  #sendKeepAlive(): void {
    this.#keepAliveTimer.reschedule(this.#limits.keepAliveMs);
    this.#write(":\n\n");
  }

  #write(text: string): void {
    const response = this.#response;
    if (this.#ended || response.destroyed) return;
    if (!this.#streaming) this.#begin(text);
    else if (response.writableLength > this.#limits.maxUnreadBytes) {
      this.#limits.onTooSlow();
      response.destroy();
    } else response.write(text);
  }

  #begin(text: string): void {
    const response = this.#response;
    this.#streaming = true;
    this.#limits.onCount(1);
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
      // nginx buffers events without it.
      "x-accel-buffering": "no",
    });
    // `cork` makes one packet of both. Without `flushHeaders` Node keeps the head as 24 strings for as long as the stream.
    response.cork();
    response.flushHeaders();
    response.write(text);
    response.uncork();
  }

  #onClose(): void {
    if (this.#ended) return;
    this.#end();
    this.#stop.abort(new GatewayError("cancelled", "downstream", "the client closed its stream"));
  }

  #end(): void {
    this.#ended = true;
    this.#keepAliveTimer.clear();
    if (this.#streaming) this.#limits.onCount(-1);
  }
}

/** Text alone is sent in one write; bytes are never copied. */
function sendAll(response: ServerResponse, pieces: readonly (string | Buffer)[]): void {
  if (pieces.every((piece) => typeof piece === "string")) {
    response.end(pieces.join(""));
    return;
  }
  for (const piece of pieces) response.write(piece);
  response.end();
}

/** Receives the messages of one request. */
export interface ResponseSink {
  /** Aborted when the client cancels the request before its response. */
  readonly signal: StopSignal;
  /** Sends one message before the answer; what comes after the answer is dropped. */
  send(message: string): void;
  /** Sends the answer, and nothing after it. */
  respond(response: SerializedResponse): void;
}
