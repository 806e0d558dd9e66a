/** Can several processes of one server run beside each other? Known by how they end: a new one ends the old one, or ends itself. */
import type { ServerConfig } from "../../config/config.js";
import type { Logger } from "../../core/logger.js";

/** A process that ends within this time (ms) of the start of another one ended because of it. */
const RIVAL_MS = 5_000;
/** After this number of such ends in a row only one can run; a single one may be a crash. */
const MIN_ENDS = 2;

/** One connection, as far as its process is concerned. */
export interface Copy {
  readonly current: unknown;
  readonly isConnecting: boolean;
}

/** Recognises a server of which only one process can run, such as one that takes a port or ends its siblings. */
export class RivalCopies {
  readonly #server: Pick<ServerConfig, "name" | "transport" | "lease">;
  readonly #log: Logger;
  /** When the process of each was last started (`performance.now()`), and when it was open. */
  readonly #startedAt = new Map<Copy, number>();
  #ends = 0;
  #isFound = false;

  /** What is found is logged once. */
  constructor(server: Pick<ServerConfig, "name" | "transport" | "lease">, log: Logger) {
    this.#server = server;
    this.#log = log;
  }

  /** The process of `copy` is started. */
  started(copy: Copy): void {
    const now = performance.now();
    // Connections that the gateway has ended, with their lease.
    for (const one of this.#startedAt.keys()) {
      if (one.current === undefined && !one.isConnecting) this.#startedAt.delete(one);
    }
    // Two that both lived longer than that run well beside each other.
    const rivals = [...this.#startedAt].filter(([, at]) => now - at >= RIVAL_MS);
    if (rivals.filter(([other]) => other !== copy && other.current !== undefined).length > 1) this.#ends = 0;
    this.#startedAt.set(copy, now);
  }

  /** The process of `copy` ended by itself, or could not be started. */
  ended(copy: Copy): void {
    const startedAt = this.#startedAt.get(copy);
    this.#startedAt.delete(copy);
    if (startedAt === undefined || this.#isFound) return;
    const now = performance.now();
    const others = [...this.#startedAt].filter(
      ([other]) => other.current !== undefined || other.isConnecting,
    );
    const hasRival = others.some(([, at]) => now - Math.max(at, startedAt) < RIVAL_MS);
    if (!hasRival) return;
    this.#ends += 1;
    if (this.#ends < MIN_ENDS) return;
    this.#isFound = true;
    this.#warn();
  }

  #warn(): void {
    const { name: server, transport, lease } = this.#server;
    if (transport.kind !== "stdio" || lease === "shared") return;
    const sentence = `only one process of ${server} can run: each new one ends another, or ends itself; set mcpServers.${server}.lease to "shared", so that all hosts use one`;
    this.#log.warn({ server }, sentence);
  }
}
