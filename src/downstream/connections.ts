/** The connections of a listener: how many there are, and which of them came when there was hardly room any more. */
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import type { Logger } from "../core/logger.js";
import { type LoadShedKind, type Pressure, SHED_LEVELS } from "../core/pressure.js";

export interface ConnectionSettings {
  /** The most at once. */
  readonly max: number;
  readonly pressure: Pressure;
  readonly onShed: (what: LoadShedKind) => void;
  readonly logger: Logger;
}

/** Shares of `max`: from the first on none is kept for another request, from the second on new ones are only told so. */
const CLOSE_AFTER_RESPONSE_SHARE = 0.8;
const REFUSE_SHARE = 0.9;
const LOG_EVERY_MS = 60_000;

export class Connections {
  readonly #settings: ConnectionSettings;
  #open = 0;
  readonly #overLimit = new WeakSet<Socket>();
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /** Takes a new connection in, or closes it where there is no memory left to read from it. */
  admit(socket: Socket): void {
    const { max, pressure, onShed } = this.#settings;
    if (pressure.level >= SHED_LEVELS.connections) {
      onShed("connections");
      socket.destroy();
      return;
    }
    this.#open += 1;
    socket.on("close", this.#onClose);
    if (this.#open <= max * REFUSE_SHARE) return;
    this.#overLimit.add(socket);
    this.#warn();
  }

  /** The system closed one that was beyond `max`. */
  onDropped(): void {
    this.#settings.onShed("connections");
    this.#warn();
  }

  /** Whether connections had better end behind the answer that is under way on them. */
  get areNearLimit(): boolean {
    const { max, pressure } = this.#settings;
    return pressure.level >= SHED_LEVELS.streams || this.#open > max * CLOSE_AFTER_RESPONSE_SHARE;
  }

  /** Whether this one came so late that nothing is done for it: those who were here before are served. */
  isOverLimit(socket: Socket): boolean {
    return this.#overLimit.has(socket);
  }

  /** One for all sockets, as each may stay open for hours with a stream. */
  readonly #onClose = (): void => {
    this.#open -= 1;
  };

  #warn(): void {
    const now = performance.now();
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now;
    const { logger, max } = this.#settings;
    logger.warn(
      { connections: this.#open, limit: max },
      "there are too many connections; new ones are refused",
    );
  }
}

/** More than ten thousand streams and the calls beside them would need other machines anyway. */
const MAX_CONNECTIONS = 20_000;
/** What servers need besides: connections and pipes for as many calls as can sensibly be under way at once. */
const UPSTREAM_RESERVE = 1_500;

/** @param descriptors how many the process may have open. Default: what the system says. */
export function connectionLimit(descriptors = descriptorLimit()): number {
  // Up to half of them where there are few (each call may need one on either side), and a quarter at least.
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

/** Node raises the soft limit to the hard one where it can, and tells in its report what came of it. */
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
