/** The connections to one HTTP server, kept open between requests; several channels to it may share them. */
import type { Dispatcher } from "undici";
import { buildConnector, Pool } from "./undici-pool.js";

export interface HttpPoolOptions {
  readonly url: string;
  /** For the TCP and the TLS handshake together, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Certificates to trust instead of those that Node trusts, as PEM. */
  readonly ca?: string;
}

/**
 * Far above what a server should be asked at once; how many that is, is the policy's to say. A call that waits
 * for a person and an event stream hold a connection each, so a low number here would stop everything else.
 */
const MAX_CONNECTIONS = 1024;

/** Whoever makes it destroys it. */
export class HttpPool {
  readonly #pool: Dispatcher;
  /** Requests that were handed over and have no connection yet. */
  #waiting = 0;

  /** @throws TypeError when the URL is none. */
  constructor({ url, connectTimeoutMs, ca }: HttpPoolOptions) {
    const connect = buildConnector({
      timeout: connectTimeoutMs,
      // A peer that vanished without a word is noticed, streams that are silent for long included.
      keepAliveInitialDelay: 15_000,
      ...(ca === undefined ? {} : { ca }),
    });
    this.#pool = new Pool(new URL(url).origin, {
      connections: MAX_CONNECTIONS,
      // After a request that was given up undici connects again, for nobody (https://github.com/nodejs/undici/issues/5845).
      connect: (options, done) => {
        if (this.#waiting > 0) connect(options, done);
        else queueMicrotask(() => done(new Error("nobody needs this connection"), null));
      },
      // How long an answer may take is decided per call, and event streams may be silent for ever.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Sends a request when there is a connection for it; call `settled` once when it has one or needs none. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#waiting++;
    this.#pool.dispatch(options, handler);
  }

  settled(): void {
    this.#waiting--;
  }

  /** Ends all requests and closes all connections. */
  destroy(): Promise<void> {
    return this.#pool.destroy();
  }
}
