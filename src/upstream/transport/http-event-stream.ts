/** How the GET event stream of a legacy HTTP server is opened, reopened after a drop, and resumed. */
import type { GatewayError } from "../../core/errors.js";
import { type Envelope, isResponse } from "../../wire/envelope.js";
import { deliverSafely, type Headers, type UnmatchedHandlers } from "./channel.js";
import { connectionError, statusError } from "./http-errors.js";
import { type HttpReceiver, HttpRequest } from "./http-request.js";
import type { HttpTarget } from "./http-target.js";
import { isEventStream, type ResponseHeaders } from "./message-bodies.js";
import { MessageStream } from "./message-stream.js";
import { streamCredentials } from "./request-authorization.js";

/** What a stream needs, and the callbacks that it calls. */
export interface EventStreamSettings {
  readonly target: HttpTarget;
  readonly headers: Headers;
  readonly unmatched: UnmatchedHandlers;
  readonly onMessage: (message: Envelope) => void;
  /** Called when a stream that was open dropped and the server refuses to open it again. */
  readonly onLost?: (reason: GatewayError) => void;
  /** Called when the stream was reopened without being resumed. */
  readonly onMissed?: () => void;
}

/** The delay before a stream is reopened, unless the server sets `retry`; doubled after each failure. In ms. */
const REOPEN_AFTER_MS = 1_000;
const MAX_REOPEN_AFTER_MS = 60_000;
const MIN_REOPEN_AFTER_MS = 10;
/** A stream that was open this long (ms) resets the backoff. */
const STABLE_MS = 10_000;

/** One GET event stream (2025-11-25: basic/transports, "Listening for Messages from the Server"). */
export class HttpEventStream implements HttpReceiver {
  /** True once the stream is open; false when the server offers none, or `stop` came first. */
  readonly opened: Promise<boolean>;
  readonly #settings: EventStreamSettings;
  readonly #stream: MessageStream;
  #settleOpened!: (opened: boolean) => void;
  #http: HttpRequest | undefined;
  #timer: NodeJS.Timeout | undefined;
  #unwatchAddress = (): void => {};
  #stopped = false;
  /** When the open stream was opened (monotonic ms), and whether one was ever open. */
  #openSince: number | undefined;
  #everOpen = false;
  #failures = 0;

  constructor(settings: EventStreamSettings) {
    this.#settings = settings;
    this.opened = new Promise((resolve) => {
      this.#settleOpened = resolve;
    });
    this.#stream = new MessageStream(
      {
        message: (message) => this.#message(message),
        tooLong: () => {
          this.#http?.abort();
          this.#stream.whenIdle(() => this.#reopen());
        },
      },
      settings.unmatched,
      { pause: () => this.#http?.pause(), resume: () => this.#http?.resume() },
    );
  }

  start(): void {
    this.#unwatchAddress = this.#settings.target.pool.onAddressChange(() => this.#onAddressChange());
    this.#open();
  }

  stop(): void {
    this.#stopped = true;
    this.#stream.clear();
    this.#unwatchAddress();
    clearTimeout(this.#timer);
    this.#http?.abort();
    this.#http = undefined;
    this.#settleOpened(false);
  }

  head(status: number, headers: ResponseHeaders): void {
    if (status >= 300 || !isEventStream(headers)) {
      // Transient: server errors, rate limits, and 409 while the server still holds the previous stream. Other
      // statuses would repeat.
      const passes = status === 409 || status === 429 || (status >= 500 && status !== 501);
      // The server may only have dropped the event to resume from: the next attempt opens a new stream.
      if (status === 400 && this.#stream.lastEventId !== undefined) this.#stream.lastEventId = undefined;
      else if (!passes)
        this.#stopWithError(statusError(this.#settings.target, { status, headers, inSession: true }));
      return;
    }
    const missed = this.#everOpen && this.#stream.lastEventId === undefined;
    this.#everOpen = true;
    this.#openSince = performance.now();
    this.#stream.begin();
    this.#settleOpened(true);
    if (missed) this.#settings.onMissed?.();
  }

  data(chunk: Buffer): void {
    if (this.#openSince !== undefined) this.#stream.push(chunk);
  }

  end(): void {
    if (this.#openSince !== undefined) this.#stream.end();
    this.#stream.whenIdle(() => this.#reopen());
  }

  fail(cause: Error, sent: boolean): void {
    const error = connectionError(this.#settings.target, cause, sent);
    // A request that cannot be written, or has no credentials, fails at every attempt; so does an answer in an unknown encoding.
    const repeats =
      error.code === "bad_request" || error.code === "sign_in_required" || error.options.answered === true;
    if (repeats) this.#stopWithError(error);
    else this.#stream.whenIdle(() => this.#reopen());
  }

  #open(): void {
    const { target, headers } = this.#settings;
    const { lastEventId } = this.#stream;
    const resume = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const request = { ...headers, accept: "text/event-stream", ...resume };
    const credentials = streamCredentials(target.credentials, () => this.#everOpen);
    this.#http = new HttpRequest(target, { method: "GET", headers: request }, this, credentials);
  }

  /** The stream is open at an address that the name no longer resolves to. */
  #onAddressChange(): void {
    if (this.#openSince === undefined) return;
    this.#openSince = undefined;
    this.#http?.abort();
    this.#open();
  }

  #reopen(): void {
    if (this.#stopped) return;
    const openSince = this.#openSince;
    const stream = this.#stream;
    const wasStable =
      openSince !== undefined && (stream.hasReceived || performance.now() - openSince >= STABLE_MS);
    this.#openSince = undefined;
    this.#failures = wasStable ? 0 : this.#failures + 1;
    const base = Math.max(stream.retryMs ?? REOPEN_AFTER_MS, MIN_REOPEN_AFTER_MS);
    const wait = Math.min(base * 2 ** Math.max(0, this.#failures - 1), Math.max(base, MAX_REOPEN_AFTER_MS));
    // Jitter: gateways that lost the same server do not reconnect in the same moment.
    this.#timer = setTimeout(() => this.#open(), Math.min(wait * (1 + Math.random() / 5), 2 ** 31 - 1));
  }

  #stopWithError(reason: GatewayError): void {
    this.stop();
    if (this.#everOpen) this.#settings.onLost?.(reason);
  }

  #message(message: Envelope): void {
    if (this.#stopped) return;
    if (isResponse(message)) this.#settings.unmatched.onUnmatchedMessage?.(message);
    else deliverSafely(this.#settings.onMessage, message, this.#settings.unmatched);
  }
}
