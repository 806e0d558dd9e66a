/** Which connection to one HTTP server carries a request, and when does DNS make it a new set of connections? */
import { lookup } from "node:dns";
import { isIP, type LookupFunction, type OnReadOpts, type Socket } from "node:net";
import type { Client, Dispatcher } from "undici";
import { outgoingConnector } from "../../outgoing/connector.js";
import type { Network } from "../../outgoing/network.js";
import { proxyFor } from "../../outgoing/proxy.js";
import { undici } from "../../runtime/undici.js";

/** Loads what pools need, before the first one is made. */
export const loadHttpClient = (): void => void undici();

/** Where the server is, and the limits of its connections. */
interface HttpPoolOptions {
  readonly url: string;
  /** For the TCP and the TLS handshake together, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** The proxy and TLS settings of the server. Default: none, and the proxy of the environment. */
  readonly network?: Network | undefined;
  /** Resolves the name for each connection, and may refuse it. Default: the resolver of the system. */
  readonly lookup?: LookupFunction;
  /** How long connections to a host name take new requests, in milliseconds. Default: 45 s. */
  readonly maxAgeMs?: number;
  /** How long the name must not have resolved to an address before its streams are moved, in ms. Default: 10 min. */
  readonly addressTtlMs?: number;
  /** Connections at once; further requests are queued. Default: 1024. */
  readonly connections?: number;
}

/**
 * Far above useful concurrency, which the policy limits. Calls that wait for a person and event streams hold a
 * connection each, so a low limit would block other calls.
 */
const MAX_CONNECTIONS = 1024;
/**
 * Connections are replaced at this age, because a busy connection never looks its name up again. (undici's `clientTtl` does
 * the same, but accumulates callbacks while an event stream holds a connection.)
 */
const MAX_AGE_MS = 45_000;
/**
 * Some names resolve to a different part of their addresses each time (round-robin DNS). Streams at an address that is
 * missing from one answer must not be moved.
 */
const ADDRESS_TTL_MS = 10 * 60_000;

/** Connections that were opened within one `maxAgeMs`. */
interface Generation {
  readonly pool: HttpConnections;
  /** Their remote addresses. */
  readonly addresses: Set<string>;
}

/** The connections to one server, shared by its channels; its creator destroys it. */
export class HttpPool {
  readonly #open: () => Generation;
  readonly #hostname: string;
  /** Until when `#current` takes new requests, by the monotonic clock. */
  #usedUntil: number;
  readonly #maxAgeMs: number;
  #current: Generation;
  /** Earlier generations with requests in flight. */
  readonly #draining = new Set<Generation>();
  /** The draining generations whose address change was reported. */
  readonly #notified = new WeakSet<Generation>();
  readonly #listeners = new Set<() => void>();
  /** When the name last resolved to an address, by the monotonic clock. */
  readonly #addressSeenAt = new Map<string, number>();
  readonly #addressTtlMs: number;
  /** Dispatched requests without a connection. */
  #waiting = 0;

  /** @throws TypeError when the URL is invalid */
  constructor({
    url,
    connectTimeoutMs,
    network,
    lookup: resolve,
    maxAgeMs = MAX_AGE_MS,
    addressTtlMs = ADDRESS_TTL_MS,
    connections = MAX_CONNECTIONS,
  }: HttpPoolOptions) {
    const { origin } = new URL(url);
    const hostname = connectedHost(url, network);
    const connect = outgoingConnector({
      ...{ network, timeoutMs: connectTimeoutMs, lookup: resolve, onread: SHARED_READ },
    });
    this.#open = () => {
      const addresses = new Set<string>();
      const pool = new HttpConnections(origin, connections, {
        // undici reconnects after an aborted request (https://github.com/nodejs/undici/issues/5845).
        connect: (options, done) => {
          if (this.#waiting === 0) {
            queueMicrotask(() => done(new Error("no request waits for this connection"), null));
            return;
          }
          connect(options, (...outcome) => {
            const [, socket] = outcome;
            if (socket?.remoteAddress !== undefined) {
              addresses.add(socket.remoteAddress);
              this.#addressSeenAt.set(socket.remoteAddress, performance.now());
            }
            done(...outcome);
          });
        },
        // Each call has its own deadline, and event streams may be silent for ever.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      return { pool, addresses };
    };
    const isName = isIP(hostname.replace(/^\[|\]$/g, "")) === 0;
    this.#hostname = hostname;
    this.#addressTtlMs = addressTtlMs;
    this.#maxAgeMs = isName ? maxAgeMs : Number.POSITIVE_INFINITY;
    this.#current = this.#open();
    this.#usedUntil = performance.now() + this.#maxAgeMs;
  }

  /** Sends a request when a connection is free; the request calls `settled` once when it has or needs none. */
  dispatch(options: Dispatcher.DispatchOptions, request: PooledRequest): void {
    if (performance.now() >= this.#usedUntil) this.#replace();
    this.#waiting++;
    this.#current.pool.dispatch(options, request);
  }

  settled(): void {
    this.#waiting--;
  }

  /**
   * Calls `listener` when streams may be open at an address that the name no longer resolves to, so that they are
   * reopened. The returned function removes it.
   */
  onAddressChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends all requests and closes all connections. */
  async destroy(): Promise<void> {
    this.#listeners.clear();
    await Promise.all([this.#current, ...this.#draining].map(({ pool }) => pool.destroy()));
  }

  /** Requests in flight finish on their connections; the next request looks the name up again. */
  #replace(): void {
    const before = this.#current;
    this.#current = this.#open();
    this.#usedUntil = performance.now() + this.#maxAgeMs;
    this.#draining.add(before);
    const forget = (): void => void this.#draining.delete(before);
    // `close` rejects when the pool is destroyed meanwhile.
    before.pool.close().then(forget, forget);
    const long = performance.now() - this.#addressTtlMs;
    for (const [address, at] of this.#addressSeenAt) if (at < long) this.#addressSeenAt.delete(address);
    if (this.#listeners.size === 0) return;
    // When the lookup fails, streams stay where they are.
    lookup(this.#hostname, { all: true }, (error, found) => {
      if (error === null) this.#notifyAddressChange(found.map(({ address }) => address));
    });
  }

  /** `found`: the addresses that the name resolves to. */
  #notifyAddressChange(found: readonly string[]): void {
    const now = performance.now();
    for (const address of found) this.#addressSeenAt.set(address, now);
    const isLeft = (one: Generation): boolean =>
      [...one.addresses].some(
        (address) =>
          (this.#addressSeenAt.get(address) ?? Number.NEGATIVE_INFINITY) < now - this.#addressTtlMs,
      );
    const left = [...this.#draining].filter((one) => !this.#notified.has(one) && isLeft(one));
    if (left.length === 0) return;
    for (const one of left) this.#notified.add(one);
    for (const listener of [...this.#listeners]) listener();
  }
}

/** The host that sockets are connected to: that of the proxy, where there is one. */
function connectedHost(url: string, network: Network | undefined): string {
  const { hostname } = new URL(url);
  try {
    return proxyFor(url, network?.proxy)?.url.hostname ?? hostname;
  } catch {
    // The address of the proxy is none, with which each connection fails.
    return hostname;
  }
}

/**
 * Reads of all sockets go into one buffer, and what came is copied out of it. Node would otherwise allocate 64 KiB for each
 * read and give back the rest: 0.3 to 0.8 µs a call.
 */
const SHARED_READ: OnReadOpts = {
  buffer: Buffer.allocUnsafeSlow(64 * 1024),
  /** Called on the socket; false pauses it. */
  callback(this: Socket, length: number, bytes: Uint8Array): boolean {
    return this.push(Buffer.from(bytes.subarray(0, length)));
  },
};

/** A request that the pool dispatches; it calls `connection.release()` when undici has reported its end. */
export interface PooledRequest extends Dispatcher.DispatchHandler {
  /** True when the request was aborted or has ended. */
  readonly isDone: boolean;
  connection: HttpConnection | undefined;
  /** Ends a request that was still queued. */
  fail(error: Error): void;
}

interface QueuedRequest {
  readonly options: Dispatcher.DispatchOptions;
  readonly request: PooledRequest;
}

/** One undici client, which opens its socket on first use and again after it was lost. */
export class HttpConnection {
  constructor(
    readonly client: Client,
    private readonly pool: HttpConnections,
  ) {}

  dispatch({ options, request }: QueuedRequest): void {
    request.connection = this;
    this.client.dispatch(options, request);
  }

  /** Frees the connection for the next request. */
  release(): void {
    this.pool.onReleased(this);
  }
}

/**
 * Used instead of undici's `Pool`, which walks its clients for each request (64 sessions: 1 to 4 µs a call, bench/profiles.md),
 * opens a second connection for sequential requests, and closes a connection to drop a queued request.
 */
class HttpConnections {
  readonly #open: () => Client;
  readonly #max: number;
  readonly #all = new Set<HttpConnection>();
  /** Last in, first out: surplus connections stay idle until undici closes their sockets. */
  readonly #free: HttpConnection[] = [];
  readonly #queue: QueuedRequest[] = [];
  #closing = false;
  #settleClosed: () => void = () => {};

  /** @param max connections at once; further requests are queued */
  constructor(origin: string, max: number, options: Client.Options) {
    const { Client } = undici();
    this.#open = () => new Client(origin, options);
    this.#max = max;
  }

  dispatch(options: Dispatcher.DispatchOptions, request: PooledRequest): void {
    const connection = this.#free.pop() ?? this.#openAnother();
    if (connection === undefined) this.#queue.push({ options, request });
    else connection.dispatch({ options, request });
  }

  /** Resolves when all running and queued requests have ended and the connections are closed. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#settleClosed = resolve;
    });
    this.#closing = true;
    for (const connection of this.#free.splice(0)) this.#end(connection);
    if (this.#all.size > 0) await closed;
  }

  /** Fails all running and queued requests and closes the connections. */
  async destroy(): Promise<void> {
    for (const { request } of this.#queue.splice(0)) request.fail(new Error("the connections were closed"));
    await Promise.all([...this.#all].map(({ client }) => client.destroy()));
  }

  /** Called by `HttpConnection.release`. */
  onReleased(connection: HttpConnection): void {
    while (this.#queue[0]?.request.isDone) this.#queue.shift();
    const next = this.#queue.shift();
    if (next !== undefined) connection.dispatch(next);
    else if (this.#closing) this.#end(connection);
    else this.#free.push(connection);
  }

  #openAnother(): HttpConnection | undefined {
    if (this.#all.size >= this.#max) return undefined;
    const connection = new HttpConnection(this.#open(), this);
    this.#all.add(connection);
    return connection;
  }

  #end(connection: HttpConnection): void {
    const ended = (): void => {
      this.#all.delete(connection);
      if (this.#all.size === 0) this.#settleClosed();
    };
    // `close` rejects when the client is destroyed meanwhile.
    connection.client.close().then(ended, ended);
  }
}
