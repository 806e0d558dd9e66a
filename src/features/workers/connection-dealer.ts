/**
 * Which worker serves a new connection? The primary process accepts it and hands it to a worker that has confirmed the one before.
 * Node's cluster does the same, and loses a connection that is on its way to a worker that is killed: its host would wait forever.
 */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Logger } from "../../core/logger.js";
import { connectionLimit } from "../../downstream/connections.js";

/** Hands a connection over to one worker, which confirms `id` with whether it takes it. */
export type HandOver = (id: number, connection: Socket) => void;

/** How long (ms) connections wait at most while no worker runs: a new one may be there by then. */
const MAX_WAIT_MS = 5_000;

interface Handed {
  readonly id: number;
  readonly connection: Socket;
}

/** Accepts the connections of hosts for all workers. */
export class ConnectionDealer {
  readonly #server: Server;
  readonly #logger: Pick<Logger, "error">;
  readonly #workers = new Map<number, HandOver>();
  /** Workers that can be given a connection, the one that waits longest first. */
  readonly #free = new Set<number>();
  /** What each worker has not confirmed. */
  readonly #handed = new Map<number, Handed>();
  /** In order of arrival. */
  readonly #waiting = new Set<Socket>();
  /** Connections that may wait; further ones are closed. */
  readonly #maxWaiting = connectionLimit();
  /** While connections wait and no worker runs. */
  #endOfWait: NodeJS.Timeout | undefined;
  #lastId = 0;
  #isStopping = false;

  constructor(logger: Pick<Logger, "error">) {
    this.#logger = logger;
    // Nothing is read here: the first bytes are for the worker.
    this.#server = createServer({ pauseOnConnect: true, noDelay: true }, (connection) =>
      this.#accepted(connection),
    );
  }

  /** Binds; resolves to the port. @throws Error of the system */
  listen(where: { readonly host: string; readonly port: number }): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(where, () => {
        this.#server.off("error", reject);
        // One that cannot be accepted, for lack of descriptors say, is no reason to end.
        this.#server.on("error", (error) => this.#logger.error({ error }, "a connection was lost"));
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** A worker serves. */
  opened(worker: number, handOver: HandOver): void {
    this.#workers.set(worker, handOver);
    this.#free.add(worker);
    this.#deal();
  }

  /** A worker has ended. What it has not confirmed is closed: it may have read of it. */
  ended(worker: number): void {
    this.#leave(worker);
    this.#handed.get(worker)?.connection.destroy();
    this.#handed.delete(worker);
    this.#deal();
  }

  /** A worker takes a connection, or does not, as it stops: then another one gets it. */
  confirmed(worker: number, id: number, isTaken: boolean): void {
    const handed = this.#handed.get(worker);
    if (handed?.id !== id) return;
    this.#handed.delete(worker);
    if (isTaken) {
      // The worker has a descriptor of its own.
      handed.connection.destroy();
      if (this.#workers.has(worker)) this.#free.add(worker);
    } else {
      this.#leave(worker);
      this.#waiting.add(handed.connection);
    }
    this.#deal();
  }

  /** From now on what no worker takes is closed. */
  stopping(): void {
    this.#isStopping = true;
    this.#deal();
  }

  /** Stops to listen. */
  close(): void {
    this.#server.close();
    this.#closeWaiting();
  }

  #leave(worker: number): void {
    this.#workers.delete(worker);
    this.#free.delete(worker);
  }

  #accepted(connection: Socket): void {
    // A client that leaves while it waits; its socket closes.
    connection.on("error", () => {});
    if (this.#waiting.size >= this.#maxWaiting) connection.destroy();
    else {
      this.#waiting.add(connection);
      this.#deal();
    }
  }

  #closeWaiting(): void {
    clearTimeout(this.#endOfWait);
    this.#endOfWait = undefined;
    for (const connection of this.#waiting) connection.destroy();
    this.#waiting.clear();
  }

  #deal(): void {
    for (const connection of this.#waiting) {
      const [worker] = this.#free;
      const handOver = worker === undefined ? undefined : this.#workers.get(worker);
      if (worker === undefined || handOver === undefined) break;
      this.#waiting.delete(connection);
      this.#free.delete(worker);
      this.#lastId += 1;
      this.#handed.set(worker, { id: this.#lastId, connection });
      handOver(this.#lastId, connection);
    }
    if (this.#workers.size > 0) {
      clearTimeout(this.#endOfWait);
      this.#endOfWait = undefined;
    } else if (this.#isStopping) this.close();
    else if (this.#waiting.size > 0) this.#endOfWait ??= setTimeout(() => this.#closeWaiting(), MAX_WAIT_MS);
  }
}
