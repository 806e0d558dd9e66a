/** How many connections can the process hold, and when are idle and stalled ones closed? */
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import type { Logger } from "../core/logger.js";
import { strangerLog } from "../telemetry/stranger-log.js";

/** Enough for the 10,000 streams of the stream quota and the calls beside them. */
const MAX_CONNECTIONS = 20_000;
/** File descriptors for the connections and pipes to servers. */
const UPSTREAM_RESERVE = 1_500;

/** The connection limit. @param descriptors that the process may have open. Default: the soft limit of the system. */
export function connectionLimit(descriptors = descriptorLimit()): number {
  // Up to half of the descriptors (a call may need one on either side), and a quarter at least.
  const reserve = Math.max(descriptors / 4, Math.min(descriptors / 2, UPSTREAM_RESERVE));
  return Math.max(1, Math.min(MAX_CONNECTIONS, Math.floor(descriptors - reserve)));
}

function descriptorLimit(): number {
  try {
    const line = /^Max open files +(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return line === undefined || line === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(line);
  } catch {
    // No such file: not Linux.
    return reportedLimit();
  }
}

/** Node raises the soft limit to the hard one where it can; its report has the result. */
function reportedLimit(): number {
  const report: unknown = process.report?.getReport();
  const limits = memberOf(memberOf(report, "userLimits"), "open_files");
  const soft = memberOf(limits, "soft");
  return typeof soft === "number" ? soft : Number.MAX_SAFE_INTEGER;
}

const memberOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? Reflect.get(value, key)
    : undefined;

/**
 * An idle connection is kept for this time (ms) beyond the advertised keep-alive. A client may send in its last moment, and
 * Node (before 22.19) would close the socket just then: the request would be lost without a trace.
 */
const KEEP_ALIVE_GRACE_MS = 1_000;

/**
 * The stall time is measured in this number of steps. Only Node sees the progress of a large write, and reports it by its
 * socket timeout, which restarts in full length if anything moved: one of 30 s would close a stalled reader after up to 60 s.
 */
const STALL_STEPS = 20;

interface ConnectionTimeoutsOptions {
  /** A reader that takes nothing of the pending bytes for this time (ms) is disconnected. */
  readonly stallMs: number;
  readonly logger: Logger;
}

/** Closes connections whose reader stalls, idle ones after a grace period, and at a stop those that were never used. */
export class ConnectionTimeouts {
  readonly #stallMs: number;
  readonly #stepMs: number;
  readonly #logger: Logger;
  readonly #open = new Set<Socket>();
  #timer: NodeJS.Timeout | undefined;
  /** Sockets with a response in flight, between the two events that Node emits for one timeout. */
  readonly #responding = new WeakSet<Socket>();
  /** Since when (by `performance.now()`) nothing is read, and when Node last reported it. */
  readonly #stalled = new WeakMap<Socket, { readonly since: number; readonly heard: number }>();
  /** The bytes read when the grace period began. */
  readonly #graceBytesRead = new WeakMap<Socket, number>();

  constructor({ stallMs, logger }: ConnectionTimeoutsOptions) {
    this.#stallMs = stallMs;
    this.#stepMs = Math.ceil(stallMs / STALL_STEPS);
    this.#logger = strangerLog(logger);
  }

  /** Checks `socket` until it is closed. */
  readonly watch = (socket: Socket): void => {
    this.#timer ??= setInterval(this.#armStallTimeouts, this.#stepMs).unref();
    this.#open.add(socket);
    // `close` is emitted once anyway, and `once` would keep five objects with each stream.
    socket.on("close", () => {
      this.#open.delete(socket);
      if (this.#open.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
  };

  /** For the `timeout` of a response: a call may be quiet for any time; a reader that leaves pending bytes is disconnected. */
  readonly onResponseTimeout = (socket: Socket): void => {
    this.#responding.add(socket);
    if (socket.writableLength === 0) {
      socket.setTimeout(0);
      return;
    }
    const now = performance.now();
    const before = this.#stalled.get(socket);
    // If anything had moved in between, this event would be one step later.
    const goesOn = before !== undefined && now - before.heard < 2 * this.#stepMs;
    const since = goesOn ? before.since : now - this.#stepMs;
    if (now - since >= this.#stallMs) {
      const bytes = socket.writableLength;
      this.#logger.warn({ bytes }, "a stalled connection was closed: the client does not read");
      socket.destroy();
      return;
    }
    this.#stalled.set(socket, { since, heard: now });
    socket.setTimeout(this.#stepMs);
  };

  /** For the `timeout` of the server, which Node emits after that of a response, if there is one. */
  readonly onServerTimeout = (socket: Socket): void => {
    if (this.#responding.delete(socket)) return;
    const { bytesRead } = socket;
    // The socket may have been used since its last grace period.
    if (this.#graceBytesRead.get(socket) !== bytesRead) {
      this.#graceBytesRead.set(socket, bytesRead);
      socket.setTimeout(KEEP_ALIVE_GRACE_MS);
      return;
    }
    // After a busy phase of the process a request may be in the socket that is not read yet.
    setImmediate(() => {
      if (socket.bytesRead === bytesRead) socket.destroy();
    });
  };

  /**
   * Closes connections over which nothing came yet, which Node does not take for idle: clients such as undici open one in advance.
   * A request may be in a socket that is not read yet, so each is looked at again in the next turn of the event loop.
   */
  closeUnused(): void {
    for (const socket of this.#open) {
      if (socket.bytesRead > 0) continue;
      setImmediate(() => {
        if (socket.bytesRead === 0) socket.destroy();
      });
    }
  }

  readonly #armStallTimeouts = (): void => {
    for (const socket of this.#open) {
      if (socket.writableLength > 0 && socket.timeout !== this.#stepMs) socket.setTimeout(this.#stepMs);
    }
  };
}
