/** Connections on which nothing has moved for a while: which of them go on, and which are closed. */
import type { Socket } from "node:net";
import type { Logger } from "../core/logger.js";

/**
 * So long (ms) an idle connection is kept beyond what was promised. Whoever believes the promise may send in its last
 * moment, and Node (before 22.19) would close just then: a request that is lost without a trace.
 */
const KEEP_ALIVE_GRACE_MS = 1_000;

/**
 * In so many steps the time of a reader that takes nothing is measured. Node alone sees how far a large write has come,
 * and tells by its time-out, which it puts off for its whole length if anything moved since it last looked: one of
 * 30 s would end a reader that took something at first only after 60 s.
 */
const STALL_STEPS = 20;

export interface ConnectionTimeoutsOptions {
  /** So long may a reader take nothing of what waits for it, in ms. */
  readonly stallMs: number;
  readonly logger: Logger;
}

export class ConnectionTimeouts {
  readonly #stallMs: number;
  readonly #stepMs: number;
  readonly #logger: Logger;
  readonly #open = new Set<Socket>();
  #timer: NodeJS.Timeout | undefined;
  /** Those with a response under way, between the two events that Node has for one time-out. */
  readonly #responding = new WeakSet<Socket>();
  /** Since when (by `performance.now()`) nothing is taken, and when that was last heard. */
  readonly #stalled = new WeakMap<Socket, { readonly since: number; readonly heard: number }>();
  /** How much had been read when the time beyond the promise began. */
  readonly #graceBytesRead = new WeakMap<Socket, number>();

  constructor({ stallMs, logger }: ConnectionTimeoutsOptions) {
    this.#stallMs = stallMs;
    this.#stepMs = Math.ceil(stallMs / STALL_STEPS);
    this.#logger = logger;
  }

  /** Looks after `socket` until it is closed. */
  readonly watch = (socket: Socket): void => {
    this.#timer ??= setInterval(this.#armStallTimeouts, this.#stepMs).unref();
    this.#open.add(socket);
    // It comes once, and `once` would keep five objects with each stream for that.
    socket.on("close", () => {
      this.#open.delete(socket);
      if (this.#open.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
  };

  /** For the `timeout` of a response: a call may be quiet for as long as it takes; a reader that leaves what is there is cut off. */
  readonly onResponseTimeout = (socket: Socket): void => {
    this.#responding.add(socket);
    if (socket.writableLength === 0) {
      socket.setTimeout(0);
      return;
    }
    const now = performance.now();
    const before = this.#stalled.get(socket);
    // If anything had moved in between, it would have come later by another step.
    const goesOn = before !== undefined && now - before.heard < 2 * this.#stepMs;
    const since = goesOn ? before.since : now - this.#stepMs;
    if (now - since >= this.#stallMs) {
      const bytes = socket.writableLength;
      this.#logger.warn({ bytes }, "a connection was closed: its reader takes nothing");
      socket.destroy();
      return;
    }
    this.#stalled.set(socket, { since, heard: now });
    socket.setTimeout(this.#stepMs);
  };

  /** For the `timeout` of the server, which comes behind that of a response, if there is one. */
  readonly onServerTimeout = (socket: Socket): void => {
    if (this.#responding.delete(socket)) return;
    const { bytesRead } = socket;
    // It may have been used since it was given time before.
    if (this.#graceBytesRead.get(socket) !== bytesRead) {
      this.#graceBytesRead.set(socket, bytesRead);
      socket.setTimeout(KEEP_ALIVE_GRACE_MS);
      return;
    }
    // Where the process was busy for long, a request may lie there that nobody has read yet.
    setImmediate(() => {
      if (socket.bytesRead === bytesRead) socket.destroy();
    });
  };

  /** From now on Node tells of each step of those for whom something waits. */
  readonly #armStallTimeouts = (): void => {
    for (const socket of this.#open) {
      if (socket.writableLength > 0 && socket.timeout !== this.#stepMs) socket.setTimeout(this.#stepMs);
    }
  };
}
