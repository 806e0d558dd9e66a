/** Connections on which nothing has moved for a while: which of them go on, and which are closed. */
import type { Socket } from "node:net";
import type { Logger } from "../core/logger.js";

/**
 * So long (ms) an idle connection is kept beyond what was promised. Whoever believes the promise may send in its last
 * moment, and Node (before 22.19) would close just then: a request that is lost without a trace.
 */
const BEYOND_MS = 1_000;

export class QuietConnections {
  readonly #logger: Logger;
  /** Those with a response under way, between the two events that Node has for one time-out. */
  readonly #responding = new WeakSet<Socket>();
  /** When the time beyond the promise began, by `performance.now()`. */
  readonly #beyond = new WeakMap<Socket, number>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** For the `timeout` of a response: a call may be quiet for as long as it takes; a reader that leaves what is there is cut off. */
  readonly duringResponse = (socket: Socket): void => {
    this.#responding.add(socket);
    if (socket.writableLength === 0) return;
    this.#logger.warn({ bytes: socket.writableLength }, "a connection was closed: its reader takes nothing");
    socket.destroy();
  };

  /** For the `timeout` of the server, which comes behind that of a response, if there is one. */
  readonly otherwise = (socket: Socket): void => {
    if (this.#responding.delete(socket)) return;
    const now = performance.now();
    const began = this.#beyond.get(socket) ?? Number.NEGATIVE_INFINITY;
    // It may have been used since it was given time before.
    if (now - began < 2 * BEYOND_MS) {
      socket.destroy();
      return;
    }
    this.#beyond.set(socket, now);
    socket.setTimeout(BEYOND_MS);
  };
}
