/** How many connections of hosts are open, and which get no answer because there are too many? */
import type { Socket } from "node:net";
import type { Logger } from "../core/logger.js";
import { type LoadShedKind, type Pressure, SHED_LEVELS } from "../core/pressure.js";

/** The limit, and where it is reported. */
export interface ConnectionSettings {
  /** The most at once. */
  readonly max: number;
  readonly pressure: Pressure;
  readonly onShed: (what: LoadShedKind) => void;
  readonly logger: Logger;
}

/** Shares of `max`: above the first, connections close after their response; above the second, new ones get 503. */
const CLOSE_AFTER_RESPONSE_SHARE = 0.8;
const REFUSE_SHARE = 0.9;
const LOG_EVERY_MS = 60_000;

/** Counts the connections of one listener, and sheds those beyond its limit. */
export class Connections {
  readonly #settings: ConnectionSettings;
  #open = 0;
  readonly #overLimit = new WeakSet<Socket>();
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /** Counts a new connection, or closes it under memory pressure. */
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

  /** Whether further connections are dropped. */
  get areFull(): boolean {
    return this.#open >= this.#settings.max;
  }

  /** A connection beyond `max` was dropped. */
  onDropped(): void {
    this.#settings.onShed("connections");
    this.#warn();
  }

  /** Whether connections should close after the response in flight. */
  get areNearLimit(): boolean {
    const { max, pressure } = this.#settings;
    return pressure.level >= SHED_LEVELS.streams || this.#open > max * CLOSE_AFTER_RESPONSE_SHARE;
  }

  /** Whether this connection gets 503 because it came beyond the limit. */
  isOverLimit(socket: Socket): boolean {
    return this.#overLimit.has(socket);
  }

  /** One listener for all sockets: each socket may keep its own for hours. */
  readonly #onClose = (): void => {
    this.#open -= 1;
  };

  #warn(): void {
    const now = performance.now();
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now;
    const { logger, max } = this.#settings;
    logger.warn({ connections: this.#open, limit: max }, "too many open connections; new ones are refused");
  }
}
