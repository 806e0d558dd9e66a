/**
 * How one POSTed request gets its response: as a JSON document, or as the last message of an event stream, which is
 * resumed after a drop when its events have ids.
 */

import { GatewayError } from "../../core/errors.js";
import { LARGE_BYTES, runSteps, type Steps } from "../../runtime/cooperative-yield.js";
import { ContentEncodingError } from "../../runtime/decompression.js";
import { deliverInSteps } from "../../runtime/document-queue.js";
import { BoundedBuffer } from "../../wire/bounded-buffer.js";
import { type Envelope, isResponse, PrototypeMemberError, type Request } from "../../wire/envelope.js";
import {
  type ChannelResponse,
  deliverSafely,
  type ExchangeOptions,
  type Headers,
  type UnmatchedHandlers,
} from "./channel.js";
import { connectionError, statusError } from "./http-errors.js";
import { type HttpReceiver, HttpRequest } from "./http-request.js";
import type { HttpTarget } from "./http-target.js";
import { invalidResponse } from "./invalid-response.js";
import {
  HttpResponse,
  headerOf,
  isEventStream,
  isInText,
  NO_HEADERS,
  type ResponseDocument,
  type ResponseHeaders,
  readDocument,
  readDocumentInSteps,
  responseTo,
  textOf,
} from "./message-bodies.js";
import { weightOf } from "./message-reader.js";
import { MessageStream, TOO_LONG } from "./message-stream.js";
import { ResumeDelay } from "./resume-delay.js";

/** The channel of an exchange. */
export interface ExchangeOwner {
  readonly target: HttpTarget;
  readonly unmatched: UnmatchedHandlers;
  /** The exchange and its connection have ended. */
  onFinished(exchange: HttpExchange): void;
}

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** How long a stream may stay open after its response before the gateway closes it, in ms. */
const LINGER_MS = 1_000;

/** One request in flight (2025-11-25: basic/transports, "Sending Messages to the Server"). */
export class HttpExchange implements HttpReceiver {
  readonly response: Promise<ChannelResponse>;
  /** Its index in the list of the owner. */
  slot = -1;
  readonly #owner: ExchangeOwner;
  readonly #request: Request;
  readonly #headers: Headers;
  readonly #options: ExchangeOptions | undefined;
  #resolve!: (answer: ChannelResponse) => void;
  #reject!: (error: GatewayError) => void;
  #http: HttpRequest | undefined;
  #settled = false;
  /** For the end of LINGER_MS, or for the next attempt to resume. */
  #timer: NodeJS.Timeout | undefined;

  /** Of the response to the POST; they hold for its resumed stream too. */
  #status = 0;
  #responseHeaders = NO_HEADERS;
  #chunks: Buffer[] = [];
  #size = 0;
  /** Replaces the chunks of a large body: it is joined while it arrives, not in one step at its end. */
  #large: BoundedBuffer | undefined;

  #stream: MessageStream | undefined;
  #streaming = false;
  #resuming = false;
  #resumeDelay: ResumeDelay | undefined;

  constructor(
    owner: ExchangeOwner,
    request: Request,
    headers: Headers,
    options: ExchangeOptions | undefined,
  ) {
    this.#owner = owner;
    this.#request = request;
    this.#headers = headers;
    this.#options = options;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  start(): void {
    this.#options?.signal?.addEventListener("abort", this.#cancel);
    let body: string;
    try {
      body = textOf(this.#request);
    } catch (error) {
      this.abandon(error as GatewayError);
      return;
    }
    this.#http = new HttpRequest(this.#owner.target, { method: "POST", headers: this.#headers, body }, this);
  }

  /** Fails a pending exchange, and closes its connection. */
  abandon(error: GatewayError): void {
    this.#settle();
    this.#reject(error);
    this.#http?.abort();
    this.#finished();
  }

  /** Whether a byte of the request can have reached the server. */
  get isSent(): boolean {
    return this.#stream !== undefined || this.#http?.isSent === true;
  }

  head(status: number, headers: ResponseHeaders): void {
    this.#streaming = status < 300 && isEventStream(headers);
    if (!this.#resuming) {
      this.#status = status;
      this.#responseHeaders = headers;
    } else if (!this.#streaming && status < 500 && status !== 429) {
      this.abandon(this.#closed(`its stream could not be resumed (HTTP status ${status})`));
    }
    if (!this.#streaming) return;
    this.#resumeDelay?.opened();
    this.#stream ??= new MessageStream(
      {
        message: (message) => this.#message(message),
        invalidResponse: (id, cause) => {
          if (this.#settled || !(id === this.#request.id || isInText(this.#request.id, id))) return false;
          this.abandon(
            cause instanceof PrototypeMemberError
              ? invalidResponse(this.#owner.target.name, cause)
              : this.#closed(`its response is not valid: ${cause.message}`, cause),
          );
          return true;
        },
        tooLong: () => this.#stream?.whenIdle(() => this.#onTooLong()),
      },
      this.#owner.unmatched,
      this,
    );
    this.#stream.begin();
  }

  data(chunk: Buffer): void {
    if (this.#streaming) {
      if (!this.#settled) this.#stream?.push(chunk);
      return;
    }
    if (this.#resuming) return;
    this.#size += chunk.length;
    if (this.#size < LARGE_BYTES) this.#chunks.push(chunk);
    else if (this.#size <= MAX_ANSWER_BYTES) this.#appendLarge(chunk);
    else this.abandon(this.#tooLarge(`a response longer than ${MAX_ANSWER_BYTES} bytes`));
  }

  end(): void {
    if (this.#settled) {
      this.#finished();
    } else if (this.#large === undefined) {
      this.#finish();
    } else {
      this.#finishLarge(this.#large.take());
    }
  }

  /** Reads nothing more of the stream until `resume`. */
  pause(): void {
    this.#http?.pause();
  }

  resume(): void {
    this.#http?.resume();
  }

  #finish(): void {
    if (this.#streaming && this.#stream !== undefined) {
      this.#stream.end();
      this.#stream.whenIdle(() => this.#finishOrResume());
      return;
    }
    if (!this.#resuming) this.#readBody();
    this.#finishOrResume();
  }

  /** A large body is read in steps; the call may be cancelled in between. */
  #finishLarge(body: Buffer): void {
    runSteps(this.#readLargeBody(body))
      .then(() => this.#finishOrResume())
      .catch((error) => this.fail(error as Error, true));
  }

  *#readLargeBody(body: Buffer): Steps<void> {
    const document = yield* readDocumentInSteps(this.#request, this.#status, body);
    if (this.#settled) return;
    if (document.response !== undefined)
      yield* deliverInSteps(document.others, (message) => {
        this.#message(message);
        return weightOf(message);
      });
    if (!this.#settled) this.#take(document, body);
  }

  #finishOrResume(): void {
    if (this.#settled) this.#finished();
    else this.#resumeOrFail("it ended its stream before the response");
  }

  fail(error: Error, sent: boolean): void {
    if (this.#settled) this.#finished();
    else if (this.#stream === undefined) this.abandon(connectionError(this.#owner.target, error, sent));
    else this.#stream.whenIdle(() => this.#streamFailed(error));
  }

  #streamFailed(error: Error): void {
    if (this.#settled) {
      this.#finished();
    } else if (error instanceof ContentEncodingError && error.kind !== "invalid") {
      this.abandon(connectionError(this.#owner.target, error, true));
    } else if (error instanceof GatewayError && error.code === "sign_in_required") {
      this.abandon(this.#closed("its stream could not be resumed: it wants a new sign-in", error));
    } else {
      this.#resumeOrFail(connectionError(this.#owner.target, error, true).message, error);
    }
  }

  #message(message: Envelope): void {
    if (this.#settled) return;
    const response = responseTo(this.#request, message);
    if (response !== undefined) {
      this.#accept(response);
      this.#linger();
    } else if (isResponse(message)) {
      this.#owner.unmatched.onUnmatchedMessage?.(message);
    } else if (this.#options?.onMessage !== undefined) {
      deliverSafely(this.#options.onMessage, message, this.#owner.unmatched);
    }
  }

  #onTooLong(): void {
    if (!this.#settled) this.abandon(this.#tooLarge(TOO_LONG));
  }

  #appendLarge(chunk: Buffer): void {
    if (this.#large === undefined) {
      this.#large = new BoundedBuffer(MAX_ANSWER_BYTES);
      this.#large.reserve(Number(headerOf(this.#responseHeaders, "content-length")));
      for (const earlier of this.#chunks) this.#large.append(earlier);
      this.#chunks = [];
    }
    this.#large.append(chunk);
  }

  #readBody(): void {
    const [first] = this.#chunks;
    const isWhole = first !== undefined && this.#chunks.length === 1;
    const body = isWhole ? first : Buffer.concat(this.#chunks, this.#size);
    const document = readDocument(this.#request, this.#status, body);
    if (document.response !== undefined) for (const other of document.others) this.#message(other);
    this.#take(document, body);
  }

  /** Accepts the response in a body, or fails the call. */
  #take(document: ResponseDocument, body: Buffer): void {
    if (document.response === undefined) {
      if (document.fault !== undefined) {
        this.abandon(invalidResponse(this.#owner.target.name, document.fault));
        return;
      }
      const { target } = this.#owner;
      const [status, headers, what] = [this.#status, this.#responseHeaders, document.refusal];
      const inSession = Object.hasOwn(this.#headers, "mcp-session-id");
      this.abandon(statusError(target, { status, headers, body, what, inSession }));
      return;
    }
    this.#accept(document.response);
  }

  #accept(response: Envelope): void {
    this.#settle();
    this.#resolve(new HttpResponse(response, this.#status, this.#responseHeaders));
  }

  /** Lets the server end its stream, so that the connection can be reused. */
  #linger(): void {
    this.#timer = setTimeout(() => {
      this.#http?.abort();
      this.#finished();
    }, LINGER_MS);
  }

  #resumeOrFail(why: string, cause?: Error): void {
    const lastEventId = this.#stream?.lastEventId;
    this.#resumeDelay ??= new ResumeDelay();
    const wait = this.#resumeDelay.next({
      isResumed: this.#resuming,
      wasOpened: this.#streaming,
      hasReceived: this.#stream?.hasReceived === true,
      retryMs: this.#stream?.retryMs,
    });
    if (lastEventId === undefined || wait === undefined) {
      this.abandon(this.#closed(why, cause));
      return;
    }
    this.#timer = setTimeout(() => this.#resume(lastEventId), wait);
  }

  #resume(lastEventId: string): void {
    this.#resuming = true;
    this.#streaming = false;
    const { "content-type": _, ...rest } = this.#headers;
    const headers = { ...rest, accept: "text/event-stream", "last-event-id": lastEventId };
    this.#http = new HttpRequest(this.#owner.target, { method: "GET", headers }, this);
  }

  readonly #cancel = (): void => {
    this.abandon(new GatewayError("cancelled", "downstream", "the call was cancelled"));
  };

  #settle(): void {
    this.#settled = true;
    this.#stream?.clear();
    this.#options?.signal?.removeEventListener("abort", this.#cancel);
  }

  #finished(): void {
    clearTimeout(this.#timer);
    this.#http = undefined;
    this.#owner.onFinished(this);
  }

  #closed(why: string, cause?: Error): GatewayError {
    const { name: server } = this.#owner.target;
    const what = `${server} gave no answer: ${why}`;
    return new GatewayError("upstream_closed", "upstream", what, { cause, server, retryable: true });
  }

  #tooLarge(what: string): GatewayError {
    const { name: server } = this.#owner.target;
    return new GatewayError("too_large", "upstream", `${server} sent ${what}`, { server });
  }
}
