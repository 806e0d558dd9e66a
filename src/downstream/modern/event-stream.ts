/**
 * The response to one POST: a single JSON object, or a stream of server-sent events when something has to be
 * said before the answer (spec 2026-07-28: basic/transports/streamable-http, "Receiving Messages").
 */
import type { ServerResponse } from "node:http";
import { GatewayError } from "../../core/errors.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import type { CoarseTimer, CoarseTimers } from "../../runtime/coarse-timers.js";
import { sendJson } from "../../wire/json-response.js";
import type { ResponseSink } from "./response-sink.js";
import type { SerializedResponse } from "./write-reply.js";

export interface StreamLimits {
  /** A quiet response says that it is alive this often, in milliseconds. */
  readonly keepAliveMs: number;
  readonly timers: CoarseTimers;
  /** A reader that leaves more than this unread is cut off, in bytes. */
  readonly maxUnreadBytes: number;
  /** Told when a response becomes a stream (1) and when that ends (-1). */
  readonly onCount: (change: 1 | -1) => void;
  /** Told when a reader is cut off. */
  readonly onTooSlow: () => void;
}

/** The `WWW-Authenticate` that asks for a token with these scopes. */
export type Challenge = (scopes: readonly string[]) => string;

/** The response stream of one request; it ends with the answer, or when the client closes it. */
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
    // A client that hears nothing at all gives up after minutes (undici: 300 s for the headers alone), so a
    // slow answer becomes a stream too.
    this.#keepAliveTimer = limits.timers.set(limits.keepAliveMs, () => this.#sendKeepAlive());
    response.once("close", () => this.#onClose());
    if (response.destroyed) this.#onClose();
  }

  /** Aborted when the client closes the stream before its answer: in this era that is the cancellation. */
  get signal(): StopSignal {
    return this.#stop.signal;
  }

  /** Sends one message before the answer; what comes after it is dropped. */
  send(message: string): void {
    this.#write(`data: ${oneLine(message)}\n\n`);
  }

  /** Sends the answer and ends the stream. */
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
      // Asks nginx and its like not to hold events back.
      "x-accel-buffering": "no",
    });
    // One packet; but put in front of the text, the head would stay the 24 strings that Node made it of.
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

/** Text alone goes out in one write; bytes are never copied. */
function sendAll(response: ServerResponse, pieces: readonly (string | Buffer)[]): void {
  if (pieces.every((piece) => typeof piece === "string")) {
    response.end(pieces.join(""));
    return;
  }
  for (const piece of pieces) response.write(piece);
  response.end();
}

/**
 * JSON text without line breaks, which would end an event or a line. Inside a JSON string they are always
 * escaped, so those that are there stand between tokens and mean nothing.
 */
export function oneLine(text: string): string;
export function oneLine(text: string | Buffer): string | Buffer;
export function oneLine(text: string | Buffer): string | Buffer {
  if (typeof text === "string") return /[\r\n]/.test(text) ? text.replace(/[\r\n]+/g, " ") : text;
  return text.includes(10) || text.includes(13) ? oneLine(text.toString("utf8")) : text;
}
