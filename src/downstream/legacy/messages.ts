/**
 * How are messages to a legacy host written: as text around unchanged payloads, where they go, and the response to a POST?
 * That is JSON where there is nothing but responses to send, and an event stream as soon as something has to be sent before
 * them, or where the responses are long in coming.
 */
import type { ServerResponse } from "node:http";
import { GatewayError, refusalError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import type { CoarseTimer, CoarseTimers } from "../../runtime/coarse-timers.js";
import type { FrameError, MessageId, RpcError } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import type { Payload } from "../../wire/payload.js";
import { sendJson } from "../edge.js";
import type { EventStream } from "./event-stream.js";
import type { SessionStreams } from "./session-streams.js";

/** One message, ready to be written; in pieces where copying them together would cost more than it is worth. */
export type MessageText = string | readonly (string | Buffer)[];

/** The message as a list of pieces. */
export const piecesOf = (text: MessageText): readonly (string | Buffer)[] =>
  typeof text === "string" ? [text] : text;

/** Its length, in characters and bytes of its pieces. */
export function sizeOf(text: MessageText): number {
  let size = 0;
  for (const piece of piecesOf(text)) size += piece.length;
  return size;
}

/** Its length in bytes. */
export const bytesOf = (text: MessageText): number =>
  piecesOf(text).reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);

/** The message as one string. */
export const stringOf = (text: MessageText): string => (typeof text === "string" ? text : text.join(""));

/** From this many bytes on pieces are written one by one. */
const MIN_IN_PIECES = 65_536;

/** The message as one string, or in pieces where it has many bytes. It keeps no more memory than it has bytes. */
export function ownText(text: MessageText): MessageText {
  if (typeof text === "string") return text;
  const bytes = text.reduce((sum, piece) => sum + (typeof piece === "string" ? 0 : piece.length), 0);
  return bytes < MIN_IN_PIECES ? stringOf(text) : text.map(ownBytes);
}

/** Bytes that are a small part of what was received, which they would keep in memory, are copied. */
const ownBytes = (piece: string | Buffer): string | Buffer =>
  typeof piece !== "string" && piece.buffer.byteLength > 2 * piece.length ? Buffer.from(piece) : piece;

/** The response to `id` that carries `result`. */
export function resultText(id: MessageId, result: Payload): MessageText {
  const head = `{"jsonrpc":"2.0","id":${writeJson(id)},"result":{`;
  const { members } = result;
  return typeof members === "string" ? `${head}${members}}` : [head, members, "}"];
}

/** The array of those messages, in pieces: together they may be longer than a string can be. */
export const arrayOf = (texts: readonly MessageText[]): MessageText => [
  ...texts.flatMap((text, at) => [at === 0 ? "[" : ",", ...piecesOf(text)]),
  texts.length === 0 ? "[]" : "]",
];

/** The error response to `id`; null where the id must not be used, undefined where there is none. */
export const errorText = (id: MessageId | null | undefined, error: RpcError): string =>
  writeJson({ jsonrpc: "2.0", ...(id !== undefined && { id }), error });

/** The error response to a member of a batch that is no message. */
export const frameErrorText = ({ id, code, message }: FrameError): string =>
  errorText(id ?? null, { code, message });

/** A notification. */
export const noticeText = (method: string, params?: JsonObject): string =>
  writeJson({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });

/** A request of the gateway to the client. */
export const requestText = (id: MessageId, method: string, params?: JsonObject): string =>
  writeJson({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) });

/** Sends messages to a client that are no responses. */
export interface MessageSink {
  /** False when the message cannot be sent, because no host would read it. */
  send(text: MessageText): boolean;
}

/** Sends the messages of one request: those before its response, and the response. */
export interface ResponseSink extends MessageSink {
  /**
   * The response. Nothing is said after it. `scopes` are what a token must grant for another response: over HTTP
   * that is a refusal with a status of its own.
   */
  respond(text: MessageText, scopes?: readonly string[]): void;
  /** No response will come, because the client has cancelled the request. */
  skipResponse(): void;
}

/** Sends messages that belong to no request: on the GET streams of a session, or its pipe. */
export interface SessionSink extends MessageSink {
  /** Whether the host is connected; messages to a host that is not may be queued. */
  readonly isConnected: boolean;
  /** Resolves to true once the host is connected, to false after `waitMs` or when `signal` aborts. */
  waitUntilConnected(waitMs: number, signal: StopSignal): Promise<boolean>;
  /** The client is ready for requests and notifications; a pipe has no other sign of it. */
  markReady?(): void;
  /** Called each time that the host has connected. */
  onConnected?: (() => void) | undefined;
  /** Ends everything that is open. */
  close(): void;
}

/** The places of the requests of one POST. */
export interface ResponsePlaces {
  /** Sends a message before the responses; false when no host can read it. */
  send(text: MessageText): boolean;
  /** The response to the request `id`; `scopes` as in `ResponseSink`. */
  respond(id: MessageId | null, text: MessageText, scopes: readonly string[] | undefined): void;
  /** The request `id` was cancelled and gets no response. */
  skipResponse(id: MessageId | null): void;
  /** One of the places needs nothing more. */
  sinkDone(): void;
}

/** How the host of a POST can be answered. */
export interface PostSettings {
  /** Whether the client can read an event stream; without one, nothing can be said before the responses. */
  readonly streamable: boolean;
  /** Whether the client can read a JSON answer. */
  readonly json: boolean;
  /** After this time (ms) without a message the stream is opened, with its keep-alive. */
  readonly streamAfterMs: number;
  readonly timers: CoarseTimers;
  /** The `WWW-Authenticate` that asks for a token with these scopes. */
  readonly challenge: (scopes: readonly string[]) => string;
}

/** The response to the POST of one request. */
export class PostResponse implements ResponsePlaces {
  #reply: MessageText | undefined;
  readonly #streamTimer: CoarseTimer | undefined;
  #stream: EventStream | undefined;
  #missingScopes: readonly string[] | undefined;

  constructor(
    private readonly response: ServerResponse,
    private readonly streams: SessionStreams,
    private readonly settings: PostSettings,
    private readonly request: MessageId,
  ) {
    if (!settings.json) this.#openStream();
    else if (settings.streamable) {
      this.#streamTimer = settings.timers.set(settings.streamAfterMs, () => this.#openStream());
    }
  }

  /** The place of the request. */
  sink(): ResponseSink {
    return new PostResponseSink(this, this.request);
  }

  skipResponse(): void {
    this.sinkDone();
  }

  sinkDone(): void {
    this.#finish();
  }

  send(text: MessageText): boolean {
    const { streamable } = this.settings;
    // A client that takes no stream here, or lost this connection before it learned of an event id to come back
    // with, would never read what is said here. On a GET stream it may.
    if (this.#stream === undefined && (!streamable || this.response.destroyed)) {
      return this.streams.isConnected && this.streams.send(text);
    }
    this.#openStream()?.send(text);
    return true;
  }

  respond(id: MessageId | null, text: MessageText, scopes: readonly string[] | undefined): void {
    this.#missingScopes = scopes;
    if (this.#stream === undefined) this.#reply = text;
    else this.#stream.send(text, id);
  }

  #openStream(): EventStream | undefined {
    if (this.#stream !== undefined || this.response.destroyed) return this.#stream;
    this.#stream = this.streams.openCallStream(this.response, [this.request]);
    return this.#stream;
  }

  /**
   * The request was cancelled and gets no response (basic/utilities/cancellation), but a POST of a request is answered
   * with a stream or with JSON (basic/transports): a stream without events, which has nothing to resume.
   */
  #endWithoutResponse(): void {
    if (this.settings.streamable) {
      this.response.writeHead(200, STREAM_HEADERS).end();
      return;
    }
    // JSON cannot say nothing.
    respondJson(this.response, 200, errorText(this.request, refusalError(CANCELLED)));
  }

  #finish(): void {
    this.#streamTimer?.clear();
    const only = this.#reply;
    if (this.#stream !== undefined) this.#stream.finish();
    else if (this.response.destroyed) return;
    else if (only === undefined) this.#endWithoutResponse();
    else if (this.#missingScopes === undefined) respondJson(this.response, 200, only);
    else {
      this.response.setHeader("www-authenticate", this.settings.challenge(this.#missingScopes));
      respondJson(this.response, 403, only);
    }
  }
}

/** Answers with one JSON document. */
export const respondJson = (response: ServerResponse, status: number, body: MessageText): void =>
  sendJson(response, status, piecesOf(body));

/** The place of one request among those of the POST. An object of a class costs less than four functions. */
export class PostResponseSink implements ResponseSink {
  #done = false;
  constructor(
    private readonly post: ResponsePlaces,
    private readonly id: MessageId | null,
  ) {}

  send(text: MessageText): boolean {
    return !this.#done && this.post.send(text);
  }

  respond(text: MessageText, scopes?: readonly string[]): void {
    if (this.#done) return;
    this.#done = true;
    this.post.respond(this.id, text, scopes);
    this.post.sinkDone();
  }

  skipResponse(): void {
    if (this.#done) return;
    this.#done = true;
    this.post.skipResponse(this.id);
  }
}

/** The error of a cancelled request where nothing else can be answered. */
export const CANCELLED = new GatewayError("cancelled", "downstream", "the client cancelled this request");

/** The head of every event stream. */
export const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  // nginx buffers small writes without it.
  "x-accel-buffering": "no",
} as const;
