/** The connections to one HTTP server, kept open between requests; several channels to it may share them. */
import { lookup } from "node:dns";
import { isIP } from "node:net";
import { buildConnector, type Dispatcher } from "undici";
import { HttpConnections, type PooledRequest } from "./http-connections.js";
import { SHARED_READ } from "./shared-read.js";

export interface HttpPoolOptions {
  readonly url: string;
  /** For the TCP and the TLS handshake together, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Certificates to trust instead of those that Node trusts, as PEM. */
  readonly ca?: string;
  /** How long connections to a name are used for new requests, in milliseconds. Default: 45 s. */
  readonly maxAgeMs?: number;
  /** How long a name must not have led to an address for that to be left, in milliseconds. Default: 10 min. */
  readonly addressTtlMs?: number;
  /** How many there may be at once; what comes then waits for one. Default: 1024. */
  readonly connections?: number;
}

/**
 * Far above what a server should be asked at once; how many that is, is the policy's to say. A call that waits
 * for a person and an event stream hold a connection each, so a low number here would stop everything else.
 */
const MAX_CONNECTIONS = 1024;
/**
 * A name may come to stand for another address, and a busy connection would never find out. So all of them are
 * replaced now and then. (undici's `clientTtl` does the same, and collects callbacks for ever where an event stream
 * holds a connection.)
 */
const MAX_AGE_MS = 45_000;
/**
 * Some names have many addresses and lead to a few of them, others each time they are looked up. All of them are the
 * server's, and what is under way at one that was not named just now must not be disturbed.
 */
const ADDRESS_TTL_MS = 10 * 60_000;

/** Connections that were opened at about the same time. */
interface Generation {
  readonly pool: HttpConnections;
  /** Where they lead. */
  readonly addresses: Set<string>;
}

/** Whoever makes it destroys it. */
export class HttpPool {
  readonly #open: () => Generation;
  readonly #hostname: string;
  /** Until when the pool is used for new requests, by the monotonic clock. */
  #usedUntil: number;
  readonly #maxAgeMs: number;
  #current: Generation;
  /** Those before it, as long as something is under way on them. */
  readonly #draining = new Set<Generation>();
  /** Those of them of which it was told that the name leads elsewhere now. */
  readonly #notified = new WeakSet<Generation>();
  readonly #listeners = new Set<() => void>();
  /** When the name last led to an address, by the monotonic clock; those that it leads to no longer are forgotten. */
  readonly #addressSeenAt = new Map<string, number>();
  readonly #addressTtlMs: number;
  /** Requests that were handed over and have no connection yet. */
  #waiting = 0;

  /** @throws TypeError when the URL is none. */
  constructor({
    url,
    connectTimeoutMs,
    ca,
    maxAgeMs = MAX_AGE_MS,
    addressTtlMs = ADDRESS_TTL_MS,
    connections = MAX_CONNECTIONS,
  }: HttpPoolOptions) {
    const { origin, hostname } = new URL(url);
    const connect = buildConnector({
      timeout: connectTimeoutMs,
      // A peer that vanished without a word is noticed, streams that are silent for long included.
      keepAliveInitialDelay: 15_000,
      onread: SHARED_READ,
      ...(ca === undefined ? {} : { ca }),
    });
    this.#open = () => {
      const addresses = new Set<string>();
      const pool = new HttpConnections(origin, connections, {
        // After a request that was given up undici connects again, for nobody (https://github.com/nodejs/undici/issues/5845).
        connect: (options, done) => {
          if (this.#waiting === 0) {
            queueMicrotask(() => done(new Error("nobody needs this connection"), null));
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
        // How long an answer may take is decided per call, and event streams may be silent for ever.
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

  /** Sends a request when there is a connection for it; call `settled` once when it has one or needs none. */
  dispatch(options: Dispatcher.DispatchOptions, request: PooledRequest): void {
    if (performance.now() >= this.#usedUntil) this.#replace();
    this.#waiting++;
    this.#current.pool.dispatch(options, request);
  }

  settled(): void {
    this.#waiting--;
  }

  /**
   * Calls `listener` when something may be under way at an address for which the name no longer stands: what has no end
   * of its own, like an event stream, had better begin anew. Call the returned function to stop.
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

  /** What is under way goes on where it is; the next request looks the name up anew. */
  #replace(): void {
    const before = this.#current;
    this.#current = this.#open();
    this.#usedUntil = performance.now() + this.#maxAgeMs;
    this.#draining.add(before);
    const forget = (): void => void this.#draining.delete(before);
    // It fails when it is destroyed before it has come to its end.
    before.pool.close().then(forget, forget);
    const long = performance.now() - this.#addressTtlMs;
    for (const [address, at] of this.#addressSeenAt) if (at < long) this.#addressSeenAt.delete(address);
    if (this.#listeners.size === 0) return;
    // Where the name cannot be looked up, whoever still answers is better than nobody.
    lookup(this.#hostname, { all: true }, (error, found) => {
      if (error === null) this.#notifyAddressChange(found.map(({ address }) => address));
    });
  }

  /** `found`: the addresses for which the name stands. */
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
