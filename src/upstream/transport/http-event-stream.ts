/** The GET event stream of a legacy HTTP server, opened again whenever it drops and resumed where it stopped. */
import type { GatewayError } from "../../core/errors.js";
import { type Envelope, isResponse } from "../../wire/envelope.js";
import type { Headers } from "./channel.js";
import { connectionError, statusError } from "./http-errors.js";
import { type HttpReceiver, HttpRequest } from "./http-request.js";
import type { HttpTarget } from "./http-target.js";
import { MessageStream } from "./message-stream.js";
import { isEventStream, type ResponseHeaders } from "./response-headers.js";
import { deliverSafely, type UnmatchedHandlers } from "./unmatched-messages.js";

export interface EventStreamSettings {
  readonly target: HttpTarget;
  readonly headers: Headers;
  readonly unmatched: UnmatchedHandlers;
  readonly onMessage: (message: Envelope) => void;
  /** Told when a stream that had been open cannot be opened again, because the server refuses. */
  readonly onLost?: (reason: GatewayError) => void;
  /** Told when one is open again that could not be resumed. */
  readonly onMissed?: () => void;
}

/** The wait before a stream is opened again where the server names none; doubled after each failure. In ms. */
const REOPEN_AFTER_MS = 1_000;
const MAX_REOPEN_AFTER_MS = 60_000;
const MIN_REOPEN_AFTER_MS = 10;
/** A stream that stood this long was worth opening: its end is no failure. */
const STABLE_MS = 10_000;

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
  /** When the stream that is open now was opened, and whether there ever was one. */
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
          this.#reopen();
        },
      },
      settings.unmatched,
    );
  }

  start(): void {
    this.#unwatchAddress = this.#settings.target.pool.onAddressChange(() => this.#onAddressChange());
    this.#open();
  }

  stop(): void {
    this.#stopped = true;
    this.#unwatchAddress();
    clearTimeout(this.#timer);
    this.#http?.abort();
    this.#http = undefined;
    this.#settleOpened(false);
  }

  head(status: number, headers: ResponseHeaders): void {
    if (status >= 300 || !isEventStream(headers)) {
      // Out of order, asked too much, or (409) not yet aware that the last stream is gone: that passes. Any
      // other refusal would be the same next time.
      const passes = status === 409 || status === 429 || (status >= 500 && status !== 501);
      // It may be that it only cannot go on from there, having kept so few events; then it is listened to anew.
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
    if (!this.#stopped) this.#reopen();
  }

  fail(cause: Error, sent: boolean): void {
    const error = connectionError(this.#settings.target, cause, sent);
    // A request that cannot be written will not get better by writing it again.
    if (error.code === "bad_request") this.#stopWithError(error);
    else if (!this.#stopped) this.#reopen();
  }

  #open(): void {
    const { target, headers } = this.#settings;
    const { lastEventId } = this.#stream;
    const resume = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const request = { ...headers, accept: "text/event-stream", ...resume };
    this.#http = new HttpRequest(target, { method: "GET", headers: request }, this);
  }

  /** Where the stream comes from is not where the server is any more. */
  #onAddressChange(): void {
    if (this.#openSince === undefined) return;
    this.#openSince = undefined;
    this.#http?.abort();
    this.#open();
  }

  #reopen(): void {
    const openSince = this.#openSince;
    const stream = this.#stream;
    const wasStable =
      openSince !== undefined && (stream.hasReceived || performance.now() - openSince >= STABLE_MS);
    this.#openSince = undefined;
    this.#failures = wasStable ? 0 : this.#failures + 1;
    const base = Math.max(stream.retryMs ?? REOPEN_AFTER_MS, MIN_REOPEN_AFTER_MS);
    const wait = Math.min(base * 2 ** Math.max(0, this.#failures - 1), Math.max(base, MAX_REOPEN_AFTER_MS));
    // Many gateways that lost the same server should not all come back in the same moment.
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
