/** Which servers of earlier configs still have calls, and when do they end? */
import type { ConfiguredServer, ServerConfig } from "../config/config.js";
import { inBackground, type Logger } from "../core/logger.js";
import type { ServerRuntime } from "./server-runtime.js";

/** Timeout (ms) of the calls of a draining server. */
const DRAIN_MS = 25_000;
/** How often (ms) it is checked whether calls that have no place in its semaphore have ended: they wait for a limit or a person. */
const POLL_MS = 100;

interface DrainingServer {
  readonly server: ServerRuntime;
  /** Cancels the draining: the server keeps running. */
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
    const endWhenIdle = (): void => {
      const isBusy = server.openCalls.count > 0 || server.upstream.hasOpenCalls;
      if (isBusy && !cancelled) setTimeout(endWhenIdle, POLL_MS).unref();
      else end();
    };
    inBackground(
      server.semaphore.idle().then(endWhenIdle),
      this.#logger,
      "waiting for the calls of a server",
    );
  }

  /** Takes back a draining server with the config `config`; undefined if there is none or it is already closing. */
  reclaim(config: ConfiguredServer): ServerRuntime | undefined {
    const entry = this.#sameConfig(config).find(({ closing }) => closing === undefined);
    if (entry === undefined) return undefined;
    entry.cancelEnd();
    this.#entries.delete(entry);
    return entry.server;
  }

  /** Resolves when closing servers of this config are closed: one server never has two processes. */
  whenEnded(config: ServerConfig): Promise<void> {
    return Promise.all(this.#sameConfig(config).map(async ({ closing }) => closing)).then(() => {});
  }

  /** Closes all of them now. */
  async close(): Promise<void> {
    await Promise.all([...this.#entries].map((entry) => this.#end(entry)));
  }

  #sameConfig(config: ConfiguredServer): readonly DrainingServer[] {
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
