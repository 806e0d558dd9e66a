/** Which connection to one server carries a request: one request per connection at a time, the rest wait in order. */
import { Client, type Dispatcher } from "undici";

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
export class HttpConnections {
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
