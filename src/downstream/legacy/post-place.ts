/**
 * The answer to one POST: JSON when there is nothing but responses to send, an event stream as soon as something
 * has to be sent before them, or when the responses are long in coming.
 */
import type { ServerResponse } from "node:http";
import type { Alarm, Alarms } from "../../core/alarms.js";
import { GatewayError } from "../../core/errors.js";
import { refusalError } from "../../core/refusal.js";
import { sendJson } from "../../wire/json-answer.js";
import type { MessageId } from "../../wire/message-id.js";
import type { EventStream } from "./event-stream.js";
import type { Place } from "./place.js";
import type { SessionStreams } from "./session-streams.js";
import { STREAM_HEADERS } from "./sse-connection.js";
import { arrayOf, errorText, piecesOf, type Text } from "./text.js";

export interface PostSettings {
  /** Whether the client can read an event stream; without one, nothing can be said before the responses. */
  readonly streamable: boolean;
  /** Whether the client can read a JSON answer. */
  readonly json: boolean;
  /** So long may a client see nothing at all before the stream is opened, with its keep-alive. In ms. */
  readonly patienceMs: number;
  readonly alarms: Alarms;
  /** The requests were sent as an array, so a JSON answer is one too. */
  readonly batch: boolean;
  /** The `WWW-Authenticate` that asks for a token with these scopes. */
  readonly challenge: (scopes: readonly string[]) => string;
}

/** Responses of a batch that wait for the others, in characters or bytes together; beyond, each is sent as it comes. */
const MOST_KEPT = 16 * 1024 * 1024;

export class PostPlace {
  readonly #replies: { readonly text: Text; readonly id: MessageId | null }[] = [];
  readonly #patience: Alarm | undefined;
  #stream: EventStream | undefined;
  #open: number;
  #missing: readonly string[] | undefined;
  /** Of a batch: the length of the responses that wait for the others. */
  #kept = 0;
  /** Requests that were cancelled; made with the first of them. */
  #withdrawn: (MessageId | null)[] = NONE;

  /** `requests`: how many places will be asked for, and so how many responses there will be at most. */
  constructor(
    private readonly response: ServerResponse,
    private readonly streams: SessionStreams,
    private readonly settings: PostSettings,
    requests: number,
  ) {
    this.#open = requests;
    if (!settings.json) this.#openStream();
    else if (settings.streamable) {
      this.#patience = settings.alarms.set(settings.patienceMs, () => this.#openStream());
    }
  }

  /** The place of the request `id`, one of those that were sent. */
  place(id: MessageId | null): Place {
    return new OnePlace(this, id);
  }

  /** The request `id` gets no response. */
  withdraw(id: MessageId | null): void {
    this.#withdrawn = [...this.#withdrawn, id];
    this.placeDone();
  }

  /** One of the places needs nothing more. */
  placeDone(): void {
    this.#open -= 1;
    if (this.#open === 0) this.#finish();
  }

  /** Says something before the responses; false when nobody would ever read it. */
  say(text: Text): boolean {
    const { streamable } = this.settings;
    // A client that takes no stream here, or lost this connection before it learned of an event id to come back
    // with, would never read what is said here. On a GET stream it may.
    if (this.#stream === undefined && (!streamable || this.response.destroyed)) {
      return this.streams.isHeard && this.streams.say(text);
    }
    this.#openStream()?.send(text);
    return true;
  }

  /** The response to the request `id`; `scopes` as in `Place`. */
  reply(id: MessageId | null, text: Text, scopes: readonly string[] | undefined): void {
    this.#missing = scopes;
    if (this.#stream !== undefined) return void this.#stream.send(text, id);
    this.#replies.push({ text, id });
    if (!this.settings.batch || !this.settings.streamable) return;
    for (const piece of piecesOf(text)) this.#kept += piece.length;
    // One after the other they need not all be kept until the last is there.
    if (this.#kept > MOST_KEPT) this.#openStream();
  }

  #openStream(): EventStream | undefined {
    if (this.#stream !== undefined || this.response.destroyed) return this.#stream;
    this.#stream = this.streams.openCall(this.response);
    for (const { text, id } of this.#replies.splice(0)) this.#stream.send(text, id);
    return this.#stream;
  }

  /**
   * Every request was cancelled and gets no response (basic/utilities/cancellation), but a POST of a request is answered
   * with a stream or with JSON (basic/transports): with a stream without events, which nobody can want to resume.
   */
  #endWithoutResponse(): void {
    const { streamable, batch } = this.settings;
    if (streamable) {
      this.response.writeHead(200, STREAM_HEADERS).end();
      return;
    }
    // JSON cannot say nothing.
    const errors = this.#withdrawn.map((id) => errorText(id, refusalError(CANCELLED)));
    writeJson(this.response, 200, batch ? arrayOf(errors) : (errors[0] ?? ""));
  }

  #finish(): void {
    this.#patience?.stop();
    const [only] = this.#replies;
    if (this.#stream !== undefined) this.#stream.finish();
    else if (this.response.destroyed) return;
    else if (only === undefined) this.#endWithoutResponse();
    else if (this.settings.batch)
      writeJson(this.response, 200, arrayOf(this.#replies.map(({ text }) => text)));
    else if (this.#missing === undefined) writeJson(this.response, 200, only.text);
    else {
      this.response.setHeader("www-authenticate", this.settings.challenge(this.#missing));
      writeJson(this.response, 403, only.text);
    }
  }
}

/** Answers with one JSON document. */
export const writeJson = (response: ServerResponse, status: number, body: Text): void =>
  sendJson(response, status, piecesOf(body));

/** The place of one request among those of the POST. An object of a class costs less than four functions. */
class OnePlace implements Place {
  #done = false;
  constructor(
    private readonly post: PostPlace,
    private readonly id: MessageId | null,
  ) {}

  say(text: Text): boolean {
    return !this.#done && this.post.say(text);
  }

  reply(text: Text, scopes?: readonly string[]): void {
    if (this.#done) return;
    this.#done = true;
    this.post.reply(this.id, text, scopes);
    this.post.placeDone();
  }

  withdraw(): void {
    if (this.#done) return;
    this.#done = true;
    this.post.withdraw(this.id);
  }
}

const NONE: (MessageId | null)[] = [];
const CANCELLED = new GatewayError("cancelled", "downstream", "the client cancelled this request");
