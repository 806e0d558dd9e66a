/**
 * The answer to one POST: JSON when there is nothing but responses to send, an event stream as soon as something
 * has to be sent before them, or when the responses are long in coming.
 */
import type { ServerResponse } from "node:http";
import { GatewayError, refusalError } from "../../core/errors.js";
import type { CoarseTimer, CoarseTimers } from "../../runtime/coarse-timers.js";
import type { MessageId } from "../../wire/envelope.js";
import { sendJson } from "../edge.js";
import { type EventStream, STREAM_HEADERS } from "./event-stream.js";
import { arrayOf, errorText, type MessageText, piecesOf, type ResponseSink } from "./messages.js";
import type { SessionStreams } from "./session-streams.js";

/** What the client of a POST accepts, and when its response becomes a stream. */
export interface PostSettings {
  /** Whether the client can read an event stream; without one, nothing can be said before the responses. */
  readonly streamable: boolean;
  /** Whether the client can read a JSON answer. */
  readonly json: boolean;
  /** After this time (ms) without a message the stream is opened, with its keep-alive. */
  readonly streamAfterMs: number;
  readonly timers: CoarseTimers;
  /** The requests were sent as an array, so a JSON answer is one too. */
  readonly batch: boolean;
  /** The `WWW-Authenticate` that asks for a token with these scopes. */
  readonly challenge: (scopes: readonly string[]) => string;
}

/** Responses of a batch that wait for the others, in characters or bytes together; beyond, each is sent as it comes. */
const MAX_BUFFERED = 16 * 1024 * 1024;

/** The response to one POST, shared by the requests of its batch. */
export class PostResponse {
  readonly #replies: { readonly text: MessageText; readonly id: MessageId | null }[] = [];
  readonly #streamTimer: CoarseTimer | undefined;
  #stream: EventStream | undefined;
  #pending: number;
  #missingScopes: readonly string[] | undefined;
  /** Of a batch: the length of the responses that wait for the others. */
  #buffered = 0;
  /** Requests that were cancelled; made with the first of them. */
  #cancelled: (MessageId | null)[] = NONE;

  /** `requests`: how many places will be asked for, and so how many responses there will be at most. */
  constructor(
    private readonly response: ServerResponse,
    private readonly streams: SessionStreams,
    private readonly settings: PostSettings,
    requests: number,
  ) {
    this.#pending = requests;
    if (!settings.json) this.#openStream();
    else if (settings.streamable) {
      this.#streamTimer = settings.timers.set(settings.streamAfterMs, () => this.#openStream());
    }
  }

  /** The place of the request `id`, one of those that were sent. */
  sinkFor(id: MessageId | null): ResponseSink {
    return new PostResponseSink(this, id);
  }

  /** The request `id` gets no response. */
  skipResponse(id: MessageId | null): void {
    this.#cancelled = [...this.#cancelled, id];
    this.sinkDone();
  }

  /** One of the places needs nothing more. */
  sinkDone(): void {
    this.#pending -= 1;
    if (this.#pending === 0) this.#finish();
  }

  /** Sends a message before the responses; false when no host can read it. */
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

  /** The response to the request `id`; `scopes` as in `ResponseSink`. */
  respond(id: MessageId | null, text: MessageText, scopes: readonly string[] | undefined): void {
    this.#missingScopes = scopes;
    if (this.#stream !== undefined) return void this.#stream.send(text, id);
    this.#replies.push({ text, id });
    if (!this.settings.batch || !this.settings.streamable) return;
    for (const piece of piecesOf(text)) this.#buffered += piece.length;
    // One after the other they need not all be kept until the last is there.
    if (this.#buffered > MAX_BUFFERED) this.#openStream();
  }

  #openStream(): EventStream | undefined {
    if (this.#stream !== undefined || this.response.destroyed) return this.#stream;
    this.#stream = this.streams.openCallStream(this.response);
    for (const { text, id } of this.#replies.splice(0)) this.#stream.send(text, id);
    return this.#stream;
  }

  /**
   * Every request was cancelled and gets no response (basic/utilities/cancellation), but a POST of a request is answered
   * with a stream or with JSON (basic/transports): a stream without events, which has nothing to resume.
   */
  #endWithoutResponse(): void {
    const { streamable, batch } = this.settings;
    if (streamable) {
      this.response.writeHead(200, STREAM_HEADERS).end();
      return;
    }
    // JSON cannot say nothing.
    const errors = this.#cancelled.map((id) => errorText(id, refusalError(CANCELLED)));
    writeJson(this.response, 200, batch ? arrayOf(errors) : (errors[0] ?? ""));
  }

  #finish(): void {
    this.#streamTimer?.clear();
    const [only] = this.#replies;
    if (this.#stream !== undefined) this.#stream.finish();
    else if (this.response.destroyed) return;
    else if (only === undefined) this.#endWithoutResponse();
    else if (this.settings.batch)
      writeJson(this.response, 200, arrayOf(this.#replies.map(({ text }) => text)));
    else if (this.#missingScopes === undefined) writeJson(this.response, 200, only.text);
    else {
      this.response.setHeader("www-authenticate", this.settings.challenge(this.#missingScopes));
      writeJson(this.response, 403, only.text);
    }
  }
}

/** Answers with one JSON document. */
export const writeJson = (response: ServerResponse, status: number, body: MessageText): void =>
  sendJson(response, status, piecesOf(body));

/** The place of one request among those of the POST. An object of a class costs less than four functions. */
class PostResponseSink implements ResponseSink {
  #done = false;
  constructor(
    private readonly post: PostResponse,
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

const NONE: (MessageId | null)[] = [];
const CANCELLED = new GatewayError("cancelled", "downstream", "the client cancelled this request");
