/** A channel to a server over Streamable HTTP, as all revisions since 2025-03-26 have it. */
import { GatewayError } from "../../core/errors.js";
import type { Envelope, Notification, Request } from "../../wire/envelope.js";
import type { Answer, Channel, ExchangeOptions, Headers } from "./channel.js";
import { type ExchangeOwner, HttpExchange } from "./http-exchange.js";
import { HttpListen } from "./http-listen.js";
import { HttpPool } from "./http-pool.js";
import { type Sending, send } from "./http-send.js";
import { type HttpServer, HttpTarget } from "./http-target.js";
import type { Leftovers } from "./leftovers.js";
import { textOf } from "./message-text.js";

export interface HttpOptions extends HttpServer, Leftovers {
  /** Connections to share with other channels to the same server, which it does not close. Default: its own. */
  readonly pool?: HttpPool;
}

const FAREWELL_MS = 2_000;

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
  readonly leftovers: Leftovers;
  readonly #ownPool: HttpPool | undefined;
  readonly #postHeaders: Headers;
  readonly #merged = new WeakMap<Headers, Headers>();
  /**
   * In no order. Not a Set: with calls coming and going all the time its tables are made anew again and again,
   * and what the old ones still point to survives the young generation (10 KiB answers: 34 µs a call, not 22).
   */
  readonly #exchanges: HttpExchange[] = [];
  readonly #sendings = new Set<Sending>();
  readonly #listens = new Set<HttpListen>();
  #over: GatewayError | undefined;
  #settleClosed!: (reason: GatewayError) => void;

  constructor(options: HttpOptions) {
    this.#ownPool = options.pool === undefined ? new HttpPool(options) : undefined;
    this.target = new HttpTarget(options, options.pool ?? (this.#ownPool as HttpPool));
    this.leftovers = options;
    this.#postHeaders = {
      ...this.target.headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    this.closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
  }

  exchange(request: Request, options?: ExchangeOptions): Promise<Answer> {
    if (this.#over !== undefined) return Promise.reject(this.#over);
    if (options?.signal?.aborted === true) {
      return Promise.reject(new GatewayError("cancelled", "downstream", "the call was cancelled"));
    }
    const exchange = new HttpExchange(this, request, this.#withHeaders(options?.headers), options);
    exchange.slot = this.#exchanges.push(exchange) - 1;
    exchange.start();
    return exchange.answer;
  }

  over(exchange: HttpExchange): void {
    const { slot } = exchange;
    if (slot === -1) return;
    exchange.slot = -1;
    const last = this.#exchanges.pop();
    if (last === undefined || last === exchange) return;
    this.#exchanges[slot] = last;
    last.slot = slot;
  }

  async post(message: Notification | Envelope, options?: { readonly headers?: Headers }): Promise<void> {
    if (this.#over !== undefined) throw this.#over;
    await this.#send("POST", this.#withHeaders(options?.headers), textOf(message));
  }

  listen(
    hear: (message: Envelope) => void,
    options: Parameters<Channel["listen"]>[1] = {},
  ): { readonly opened: Promise<boolean>; stop(): void } {
    if (this.#over !== undefined) return { opened: Promise.resolve(false), stop: () => {} };
    const { target, leftovers } = this;
    const headers = { ...target.headers, ...options.headers };
    const listen = new HttpListen({ ...options, target, headers, leftovers, hear });
    this.#listens.add(listen);
    listen.start();
    return {
      opened: listen.opened,
      stop: () => {
        listen.stop();
        this.#listens.delete(listen);
      },
    };
  }

  onMoved(hear: () => void): () => void {
    return this.target.pool.onMoved(hear);
  }

  async close(farewell?: { readonly headers: Headers }): Promise<void> {
    if (this.#over !== undefined) {
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
    this.#over = over;
    for (const listen of this.#listens) listen.stop();
    this.#listens.clear();
    for (const exchange of [...this.#exchanges]) exchange.abandon(over);
    if (farewell !== undefined) await this.#sayFarewell({ ...this.target.headers, ...farewell.headers });
    for (const sending of [...this.#sendings]) sending.abandon(over);
    await this.#ownPool?.destroy();
    this.#settleClosed(over);
  }

  /** Eras hand in the same object again for the same headers; merging them anew cost 2 µs of each call. */
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
    this.#sendings.add(sending);
    try {
      await sending.accepted;
    } finally {
      this.#sendings.delete(sending);
    }
  }

  /** A courtesy: whether it arrives and what is answered makes no difference, and it may not hold up the end. */
  async #sayFarewell(headers: Headers): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, FAREWELL_MS);
    });
    await Promise.race([this.#send("DELETE", headers).catch(() => {}), late]);
    clearTimeout(timer);
  }
}
