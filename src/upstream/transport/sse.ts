/**
 * How messages are exchanged over the 2024-11-05 HTTP+SSE transport: one event stream carries all messages from the server;
 * its first event names the endpoint for POSTs.
 */
import { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import type { Envelope, Notification, Request } from "../../wire/envelope.js";
import type { Channel, ChannelResponse, ExchangeOptions, Headers, UnmatchedHandlers } from "./channel.js";
import { connectionError, statusError } from "./http-errors.js";
import { HttpPool } from "./http-pool.js";
import { HttpRequest, type OutgoingRequest } from "./http-request.js";
import { type HttpServer, HttpTarget, type PendingSend, send } from "./http-target.js";
import { invalidResponse } from "./invalid-response.js";
import { isEventStream, type ResponseHeaders, textOf } from "./message-bodies.js";
import { MessageDemultiplexer } from "./message-demultiplexer.js";
import { MessageStream, TOO_LONG } from "./message-stream.js";

/** A server, the handlers of unusable messages, and shared connections. */
export interface SseOptions extends HttpServer, UnmatchedHandlers {
  /** Shared with other channels to the server. Default: its own. */
  readonly pool?: HttpPool;
  readonly signal?: StopSignal;
}

/**
 * Opens the stream and waits for its `endpoint` event, at most `connectTimeoutMs`.
 *
 * @throws GatewayError `upstream_unavailable`, with an HttpStatusError as cause where the server does not offer
 * such a stream; `bad_request` when the URL or a header cannot be used.
 */
export async function openSseChannel(options: SseOptions): Promise<Channel> {
  const channel = new SseChannel(options);
  try {
    await channel.ready;
  } catch (error) {
    await channel.close();
    throw error;
  }
  return channel;
}

class SseChannel implements Channel {
  readonly association = "pipe";
  readonly closed: Promise<GatewayError>;
  /** Resolves with the `endpoint` event. */
  readonly ready: Promise<void>;
  readonly #target: HttpTarget;
  readonly #ownPool: HttpPool | undefined;
  readonly #messages: MessageDemultiplexer;
  readonly #pendingSends = new Set<PendingSend>();
  readonly #stream: HttpRequest;
  readonly #unwatchAddress: () => void;
  #endpoint: string | undefined;
  /** Ends with the error of a response that is no event stream. */
  #refuse: ((body?: Buffer) => void) | undefined;
  #closeReason: GatewayError | undefined;
  #settleClosed!: (reason: GatewayError) => void;
  #settleReady!: (failure?: GatewayError) => void;

  constructor(options: SseOptions) {
    this.#ownPool = options.pool === undefined ? new HttpPool(options) : undefined;
    this.#target = new HttpTarget(options, options.pool ?? (this.#ownPool as HttpPool));
    this.#messages = new MessageDemultiplexer(options);
    this.closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    this.ready = new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#refuse?.();
        this.#end(this.#closedError("sent no endpoint event within the connect timeout"));
      }, options.connectTimeoutMs);
      const giveUp = (): void => {
        this.#end(new GatewayError("cancelled", "downstream", "the connection attempt was cancelled"));
      };
      options.signal?.addEventListener("abort", giveUp);
      this.#settleReady = (failure) => {
        clearTimeout(late);
        options.signal?.removeEventListener("abort", giveUp);
        if (failure === undefined) resolve();
        else reject(failure);
      };
    });
    this.#stream = this.#open(options);
    // The stream is the session; a POST would reach the new address, which does not know the session.
    this.#unwatchAddress = this.#target.pool.onAddressChange(() =>
      this.#end(this.#closedError("resolves to another address now")),
    );
  }

  async exchange(request: Request, options?: ExchangeOptions): Promise<ChannelResponse> {
    if (this.#closeReason !== undefined) throw this.#unavailable(this.#closeReason);
    const answer = this.#messages.wait(request.id, options);
    if (options?.signal?.aborted !== true) {
      // The response may arrive on the stream before the POST is accepted.
      this.#send(request, options?.headers).catch((error: unknown) => {
        this.#messages.reject(request.id, error instanceof GatewayError ? error : this.#sendError(error));
      });
    }
    return answer;
  }

  async post(message: Notification | Envelope, options?: { readonly headers?: Headers }): Promise<void> {
    if (this.#closeReason !== undefined) throw this.#unavailable(this.#closeReason);
    await this.#send(message, options?.headers);
  }

  listen(onMessage: (message: Envelope) => void): { readonly opened: Promise<boolean>; stop(): void } {
    return { opened: Promise.resolve(true), stop: this.#messages.listen(onMessage) };
  }

  async close(): Promise<void> {
    this.#end(this.#closedError("was closed by the gateway"));
    await this.#ownPool?.destroy();
  }

  #open(options: SseOptions): HttpRequest {
    const target = this.#target;
    const messages = new MessageStream(
      {
        message: (message) => this.#messages.deliver(message),
        invalidResponse: (id, cause) => this.#messages.reject(id, invalidResponse(target.name, cause)),
        event: (name, data) => {
          if (name === "endpoint") this.#setEndpoint(data);
        },
        tooLong: () => messages.whenIdle(() => this.#end(this.#closedError(`sent ${TOO_LONG}`))),
      },
      options,
      { pause: () => this.#stream?.pause(), resume: () => this.#stream?.resume() },
    );
    const headers = { ...target.headers, accept: "text/event-stream" };
    return new HttpRequest(
      target,
      { method: "GET", headers },
      {
        head: (status, fields: ResponseHeaders) => {
          if (status < 300 && isEventStream(fields)) messages.begin();
          else {
            const answered = { status, headers: fields, inSession: false, what: describe(status) };
            this.#refuse = (body) =>
              this.#end(statusError(target, { ...answered, body: status < 300 ? undefined : body }));
          }
        },
        data: (chunk) => {
          // The first bytes of the body have the words that are quoted.
          if (this.#refuse === undefined) messages.push(chunk);
          else this.#refuse(chunk);
        },
        end: () => {
          this.#refuse?.();
          messages.whenIdle(() => this.#end(this.#closedError("ended its event stream")));
        },
        fail: (error, sent) => {
          this.#refuse?.();
          messages.whenIdle(() => this.#end(connectionError(target, error, sent)));
        },
      },
    );
  }

  #setEndpoint(data: string): void {
    const { url, name } = this.#target;
    const endpoint = URL.canParse(data, url.href) ? new URL(data, url) : undefined;
    // Another origin must get neither credentials nor messages.
    if (endpoint?.origin !== url.origin) {
      const what = `${name} named an endpoint that is not at ${url.origin}`;
      this.#end(new GatewayError("upstream_unavailable", "upstream", what, { server: name }));
      return;
    }
    this.#endpoint ??= endpoint.pathname + endpoint.search;
    this.#settleReady();
  }

  async #send(message: Envelope, headers: Headers | undefined): Promise<void> {
    const outgoing: OutgoingRequest = {
      method: "POST",
      path: this.#endpoint ?? this.#target.path,
      headers: { ...this.#target.headers, "content-type": "application/json", ...headers },
      body: textOf(message),
    };
    // The endpoint itself is the session.
    const sending = send(this.#target, outgoing, true);
    this.#pendingSends.add(sending);
    try {
      await sending.accepted;
    } finally {
      this.#pendingSends.delete(sending);
    }
  }

  /** The stream and its session have ended; the first reason is kept. */
  #end(reason: GatewayError): void {
    if (this.#closeReason !== undefined) return;
    this.#closeReason = reason;
    this.#stream?.abort();
    this.#unwatchAddress?.();
    this.#settleReady(reason);
    this.#messages.end(reason);
    for (const sending of [...this.#pendingSends]) sending.abandon(reason);
    this.#settleClosed(reason);
  }

  #closedError(what: string): GatewayError {
    const { name } = this.#target;
    return new GatewayError("upstream_closed", "upstream", `${name} ${what}`, {
      server: name,
      retryable: true,
      supervised: true,
    });
  }

  /** A request that cannot be written fails alone. */
  #sendError(cause: unknown): GatewayError {
    return connectionError(this.#target, cause instanceof Error ? cause : new Error(String(cause)), false);
  }

  #unavailable(cause: GatewayError): GatewayError {
    const { name: server } = this.#target;
    return new GatewayError("upstream_unavailable", "upstream", cause.message, {
      cause,
      server,
      retryable: true,
      supervised: true,
    });
  }
}

function describe(status: number): string | undefined {
  return status < 300 ? "offers no event stream at this address" : undefined;
}
