/** The connections of a listener: how many there are, and which of them came when there was hardly room any more. */
import type { Socket } from "node:net";
import type { Logger } from "../core/logger.js";
import { type Pressure, SHEDS, type Shed } from "../core/pressure.js";

export interface ConnectionSettings {
  /** The most at once. */
  readonly max: number;
  readonly pressure: Pressure;
  readonly shed: (what: Shed) => void;
  readonly logger: Logger;
}

/** Shares of `max`: from the first on none is kept for another request, from the second on new ones are only told so. */
const FULL = 0.8;
const CROWDED = 0.9;
const LOG_EVERY_MS = 60_000;

export class Connections {
  readonly #settings: ConnectionSettings;
  #open = 0;
  readonly #surplus = new WeakSet<Socket>();
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /** Takes a new connection in, or closes it where there is no memory left to read from it. */
  admit(socket: Socket): void {
    const { max, pressure, shed } = this.#settings;
    if (pressure.level >= SHEDS.connections) {
      shed("connections");
      socket.destroy();
      return;
    }
    this.#open += 1;
    socket.on("close", this.#closed);
    if (this.#open <= max * CROWDED) return;
    this.#surplus.add(socket);
    this.#tell();
  }

  /** The system closed one that was beyond `max`. */
  dropped(): void {
    this.#settings.shed("connections");
    this.#tell();
  }

  /** Whether connections had better end behind the answer that is under way on them. */
  get areScarce(): boolean {
    const { max, pressure } = this.#settings;
    return pressure.level >= SHEDS.streams || this.#open > max * FULL;
  }

  /** Whether this one came so late that nothing is done for it: those who were here before are served. */
  isSurplus(socket: Socket): boolean {
    return this.#surplus.has(socket);
  }

  /** One for all sockets, as each may stay open for hours with a stream. */
  readonly #closed = (): void => {
    this.#open -= 1;
  };

  #tell(): void {
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
