/** Servers that are not configured any more and have calls to finish: they end afterwards, unless they are wanted again. */
import type { ServerConfig } from "../config/config.js";
import { inBackground, type Logger } from "../core/logger.js";
import type { ServerRuntime } from "./server-runtime.js";

/** So long (ms) may calls take to finish. */
const DRAIN_MS = 25_000;

interface DrainingServer {
  readonly server: ServerRuntime;
  /** Keeps it from being ended when its calls are done. */
  cancelEnd(): void;
  /** Its end, once that has begun. */
  closing: Promise<void> | undefined;
}

export class DrainingServers {
  readonly #entries = new Set<DrainingServer>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Ends `server` when the calls under way on it have come to their end. */
  drain(server: ServerRuntime): void {
    let cancelled = false;
    let drainTimer: NodeJS.Timeout | undefined;
    const entry: DrainingServer = {
      server,
      cancelEnd: () => {
        cancelled = true;
        clearTimeout(drainTimer);
      },
      closing: undefined,
    };
    const end = (): void => {
      clearTimeout(drainTimer);
      if (!cancelled) inBackground(this.#end(entry), this.#logger, "ending a server");
    };
    drainTimer = setTimeout(end, DRAIN_MS);
    this.#entries.add(entry);
    inBackground(server.semaphore.idle().then(end), this.#logger, "waiting for the calls of a server");
  }

  /** One that is configured again as it was, if it has not begun to end; it is not retired any more. */
  reclaim(config: ServerConfig): ServerRuntime | undefined {
    const entry = this.#sameConfig(config).find(({ closing }) => closing === undefined);
    if (entry === undefined) return undefined;
    entry.cancelEnd();
    this.#entries.delete(entry);
    return entry.server;
  }

  /** The end of those that are configured again too late; there must not be two processes of one server. */
  whenEnded(config: ServerConfig): Promise<void> {
    return Promise.all(this.#sameConfig(config).map(async ({ closing }) => closing)).then(() => {});
  }

  /** Ends all of them now. */
  async close(): Promise<void> {
    await Promise.all([...this.#entries].map((entry) => this.#end(entry)));
  }

  #sameConfig(config: ServerConfig): readonly DrainingServer[] {
    return [...this.#entries].filter(({ server }) => server.runsAs(config));
  }

  #end(entry: DrainingServer): Promise<void> {
    const { server } = entry;
    entry.cancelEnd();
    entry.closing ??= server
      .close()
      .catch((error: unknown) => {
        this.#logger.warn({ server: server.config.name, error }, "a server did not end well");
      })
      .finally(() => this.#entries.delete(entry));
    return entry.closing;
  }
}
