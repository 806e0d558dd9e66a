/** How messages are exchanged with a server over Streamable HTTP, in all revisions since 2025-03-26. */

import PQueue from "p-queue";
import { GatewayError } from "../../core/errors.js";
import { settle, withTimeout } from "../../core/stop.js";
import type { Envelope, Notification, Request } from "../../wire/envelope.js";
import type { Channel, ChannelResponse, ExchangeOptions, Headers, UnmatchedHandlers } from "./channel.js";
import { HttpEventStream } from "./http-event-stream.js";
import { type ExchangeOwner, HttpExchange } from "./http-exchange.js";
import { HttpPool } from "./http-pool.js";
import { type HttpServer, HttpTarget, type PendingSend, send } from "./http-target.js";
import { textOf } from "./message-bodies.js";

/** A server, the handlers of unusable messages, and shared connections. */
export interface HttpOptions extends HttpServer, UnmatchedHandlers {
  /** Shared with other channels to the server, and not closed by this one. Default: its own. */
  readonly pool?: HttpPool;
}

const SESSION_DELETE_TIMEOUT_MS = 2_000;
/**
 * Notifications and answers that are sent at once, and as many more from a queue; each takes a connection, and a server can ask
 * 50,000 things in a batch.
 */
const POSTS = 16;

/**
 * A channel that connects when it is first used.
 *
 * @throws GatewayError `bad_request` when a header in the options cannot be sent.
 */
export function openHttpChannel(options: HttpOptions): Channel {
  return new HttpChannel(options);
}

class HttpChannel implements Channel, ExchangeOwner {
  readonly association = "stream";
  readonly closed: Promise<GatewayError>;
  readonly target: HttpTarget;
  readonly unmatched: UnmatchedHandlers;
  readonly #ownPool: HttpPool | undefined;
  readonly #postHeaders: Headers;
  #posting = 0;
  /** Made with the first message that has to wait: one takes 3 KB, and there are connections that serve one call. */
  #waiting: PQueue | undefined;
  readonly #merged = new WeakMap<Headers, Headers>();
  /**
   * Unordered. Not a Set: a Set with constant churn rehashes, and its old tables keep dead entries alive past the young
   * generation (10 KiB responses: 34 µs a call, not 22).
   */
  readonly #exchanges: HttpExchange[] = [];
  readonly #pendingSends = new Set<PendingSend>();
  readonly #eventStreams = new Set<HttpEventStream>();
  #closeReason: GatewayError | undefined;
  #settleClosed!: (reason: GatewayError) => void;

  constructor(options: HttpOptions) {
    this.#ownPool = options.pool === undefined ? new HttpPool(options) : undefined;
    this.target = new HttpTarget(options, options.pool ?? (this.#ownPool as HttpPool));
    this.unmatched = options;
    this.#postHeaders = {
      ...this.target.headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    this.closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
  }

  exchange(request: Request, options?: ExchangeOptions): Promise<ChannelResponse> {
    if (this.#closeReason !== undefined) return Promise.reject(this.#notSent(this.#closeReason));
    if (options?.signal?.aborted === true) {
      return Promise.reject(new GatewayError("cancelled", "downstream", "the call was cancelled"));
    }
    const exchange = new HttpExchange(this, request, this.#withHeaders(options?.headers), options);
    exchange.slot = this.#exchanges.push(exchange) - 1;
    exchange.start();
    return exchange.response;
  }

  onFinished(exchange: HttpExchange): void {
    const { slot } = exchange;
    if (slot === -1) return;
    exchange.slot = -1;
    const last = this.#exchanges.pop();
    if (last === undefined || last === exchange) return;
    this.#exchanges[slot] = last;
    last.slot = slot;
  }

  async post(message: Notification | Envelope, options?: { readonly headers?: Headers }): Promise<void> {
    const sent = (): Promise<void> => this.#post(message, options?.headers);
    if (this.#posting < POSTS && this.#waiting === undefined) {
      await sent();
      return;
    }
    this.#waiting ??= new PQueue({ concurrency: POSTS });
    await this.#waiting.add(sent);
    if (this.#waiting?.size === 0 && this.#waiting.pending === 0) this.#waiting = undefined;
  }

  async #post(message: Notification | Envelope, headers: Headers | undefined): Promise<void> {
    if (this.#closeReason !== undefined) throw this.#notSent(this.#closeReason);
    this.#posting += 1;
    try {
      await this.#send("POST", this.#withHeaders(headers), textOf(message));
    } finally {
      this.#posting -= 1;
    }
  }

  listen(
    onMessage: (message: Envelope) => void,
    options: Parameters<Channel["listen"]>[1] = {},
  ): { readonly opened: Promise<boolean>; stop(): void } {
    if (this.#closeReason !== undefined) return { opened: Promise.resolve(false), stop: () => {} };
    const { target, unmatched } = this;
    const headers = { ...target.headers, ...options.headers };
    const listen = new HttpEventStream({ ...options, target, headers, unmatched, onMessage });
    this.#eventStreams.add(listen);
    listen.start();
    return {
      opened: listen.opened,
      stop: () => {
        listen.stop();
        this.#eventStreams.delete(listen);
      },
    };
  }

  onAddressChange(onMessage: () => void): () => void {
    return this.target.pool.onAddressChange(onMessage);
  }

  async close(sessionEnd?: { readonly headers: Headers }): Promise<void> {
    if (this.#closeReason !== undefined) {
      await this.closed;
      return;
    }
    const { name: server } = this.target;
    const over = new GatewayError(
      "upstream_closed",
      "upstream",
      `the connection to ${server} was closed by the gateway`,
      {
        server,
        retryable: true,
        supervised: true,
      },
    );
    this.#closeReason = over;
    for (const listen of this.#eventStreams) listen.stop();
    this.#eventStreams.clear();
    for (const exchange of [...this.#exchanges])
      exchange.abandon(exchange.isSent ? over : this.#notSent(over));
    if (sessionEnd !== undefined)
      await this.#deleteSession({ ...this.target.headers, ...sessionEnd.headers });
    for (const sending of [...this.#pendingSends]) sending.abandon(over);
    await this.#ownPool?.destroy();
    this.#settleClosed(over);
  }

  /** The error of a message of which the server has nothing: its outcome is known. */
  #notSent(cause: GatewayError): GatewayError {
    const { name: server } = this.target;
    return new GatewayError("upstream_unavailable", "upstream", `${server} is no longer connected`, {
      ...{ cause, server, retryable: true, supervised: true },
    });
  }

  /** Eras pass the same object for the same headers; merging per call cost 2 µs. */
  #withHeaders(headers: Headers | undefined): Headers {
    if (headers === undefined) return this.#postHeaders;
    let merged = this.#merged.get(headers);
    if (merged === undefined) {
      merged = { ...this.#postHeaders, ...headers };
      this.#merged.set(headers, merged);
    }
    return merged;
  }

  async #send(method: "POST" | "DELETE", headers: Headers, body?: string): Promise<void> {
    const sending = send(this.target, body === undefined ? { method, headers } : { method, headers, body });
    this.#pendingSends.add(sending);
    try {
      await sending.accepted;
    } finally {
      this.#pendingSends.delete(sending);
    }
  }

  /** Best effort: the DELETE may fail, and delays the close by 2 s at most. */
  async #deleteSession(headers: Headers): Promise<void> {
    await withTimeout(SESSION_DELETE_TIMEOUT_MS, settle(this.#send("DELETE", headers)));
  }
}
