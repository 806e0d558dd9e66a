/** Which servers drain: those that a new config no longer has, until their calls are done or a config has them again. */
import type { ServerConfig } from "../config/config.js";
import { inBackground, type Logger } from "../core/logger.js";
import type { ServerRuntime } from "./server-runtime.js";

/** Time limit (ms) for the calls of a draining server. */
const DRAIN_MS = 25_000;

interface DrainingServer {
  readonly server: ServerRuntime;
  /** Keeps the server running when its calls are done. */
  cancelEnd(): void;
  /** Settles when the server is closed; undefined until closing has begun. */
  closing: Promise<void> | undefined;
}

/** The draining servers of one gateway. */
export class DrainingServers {
  readonly #entries = new Set<DrainingServer>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Closes `server` when its running calls are done, after DRAIN_MS at the latest. */
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

  /** Takes back the server that runs as `config` says; undefined where there is none or its closing has begun. */
  reclaim(config: ServerConfig): ServerRuntime | undefined {
    const entry = this.#sameConfig(config).find(({ closing }) => closing === undefined);
    if (entry === undefined) return undefined;
    entry.cancelEnd();
    this.#entries.delete(entry);
    return entry.server;
  }

  /** Resolves when servers of this config whose closing has begun are closed: one server never has two processes. */
  whenEnded(config: ServerConfig): Promise<void> {
    return Promise.all(this.#sameConfig(config).map(async ({ closing }) => closing)).then(() => {});
  }

  /** Closes all of them now. */
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
        this.#logger.warn({ server: server.config.name, error }, "closing a server failed");
      })
      .finally(() => this.#entries.delete(entry));
    return entry.closing;
  }
}
