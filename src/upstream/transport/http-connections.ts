/** Connections to one server, each with one request at a time, and which of them are free. */
import type { Dispatcher, Client as UndiciClient } from "undici";
import { Client } from "./undici-client.js";

/** A request on its way through one of them; `connection.over()` once undici has told its end. */
export interface PooledRequest extends Dispatcher.DispatchHandler {
  /** Nobody waits for its answer any more. */
  readonly isDone: boolean;
  connection: HttpConnection | undefined;
}

interface QueuedRequest {
  readonly options: Dispatcher.DispatchOptions;
  readonly request: PooledRequest;
}

/** One of undici's clients, which opens its socket when it is needed, and again when it was lost. */
export class HttpConnection {
  constructor(
    readonly client: UndiciClient,
    private readonly pool: HttpConnections,
  ) {}

  dispatch({ options, request }: QueuedRequest): void {
    request.connection = this;
    this.client.dispatch(options, request);
  }

  /** Its request has come to an end, and the next one may have it. */
  release(): void {
    this.pool.onReleased(this);
  }
}

/**
 * In the place of undici's own pool, which asks all of its clients twice per request whether they are free, and has
 * each tell it with an event when it is: 2.5 µs a call.
 */
export class HttpConnections {
  readonly #open: () => UndiciClient;
  readonly #max: number;
  readonly #all = new Set<HttpConnection>();
  /** The one used last at the end, so that those that are too many fall idle and are closed. */
  readonly #free: HttpConnection[] = [];
  /** Requests for which there is none. */
  readonly #queue: QueuedRequest[] = [];
  #closing = false;
  #settleClosed: () => void = () => {};

  constructor(origin: string, most: number, options: UndiciClient.Options) {
    this.#open = () => new Client(origin, options);
    this.#max = most;
  }

  dispatch(options: Dispatcher.DispatchOptions, request: PooledRequest): void {
    const connection = this.#free.pop() ?? this.#openAnother();
    if (connection === undefined) this.#queue.push({ options, request });
    else connection.dispatch({ options, request });
  }

  /** Resolves when everything that is under way or waits has come to its end, and the connections are closed. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#settleClosed = resolve;
    });
    this.#closing = true;
    for (const connection of this.#free.splice(0)) this.#end(connection);
    if (this.#all.size > 0) await closed;
  }

  /** Ends everything at once. */
  async destroy(): Promise<void> {
    for (const { request } of this.#queue.splice(0))
      request.onError?.(new Error("the connections were closed"));
    await Promise.all([...this.#all].map(({ client }) => client.destroy()));
  }

  /** Called by the connections themselves. */
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
    // It fails when it is destroyed meanwhile.
    connection.client.close().then(ended, ended);
  }
}
