/** Servers that are not configured any more and have calls to finish: they end afterwards, unless they are wanted again. */
import type { ServerConfig } from "./config/config.js";
import { inBackground } from "./core/background.js";
import type { Logger } from "./core/logger.js";
import type { Running } from "./running.js";

/** So long (ms) may calls take to finish. */
const PATIENCE_MS = 25_000;

interface Entry {
  readonly server: Running;
  /** Keeps it from being ended when its calls are done. */
  keep(): void;
  /** Its end, once that has begun. */
  ending: Promise<void> | undefined;
}

export class Retired {
  readonly #entries = new Set<Entry>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Ends `server` when the calls under way on it have come to their end. */
  retire(server: Running): void {
    let kept = false;
    let late: NodeJS.Timeout | undefined;
    const entry: Entry = {
      server,
      keep: () => {
        kept = true;
        clearTimeout(late);
      },
      ending: undefined,
    };
    const end = (): void => {
      clearTimeout(late);
      if (!kept) inBackground(this.#end(entry), this.#logger, "ending a server");
    };
    late = setTimeout(end, PATIENCE_MS);
    this.#entries.add(entry);
    inBackground(server.line.emptied().then(end), this.#logger, "waiting for the calls of a server");
  }

  /** One that is configured again as it was, if it has not begun to end; it is not retired any more. */
  reclaim(config: ServerConfig): Running | undefined {
    const entry = this.#like(config).find(({ ending }) => ending === undefined);
    if (entry === undefined) return undefined;
    entry.keep();
    this.#entries.delete(entry);
    return entry.server;
  }

  /** The end of those that are configured again too late; there must not be two processes of one server. */
  ending(config: ServerConfig): Promise<void> {
    return Promise.all(this.#like(config).map(async ({ ending }) => ending)).then(() => {});
  }

  /** Ends all of them now. */
  async close(): Promise<void> {
    await Promise.all([...this.#entries].map((entry) => this.#end(entry)));
  }

  #like(config: ServerConfig): readonly Entry[] {
    return [...this.#entries].filter(({ server }) => server.runsAs(config));
  }

  #end(entry: Entry): Promise<void> {
    const { server } = entry;
    entry.keep();
    entry.ending ??= server
      .close()
      .catch((error: unknown) => {
        this.#logger.warn({ server: server.config.name, error }, "a server did not end well");
      })
      .finally(() => this.#entries.delete(entry));
    return entry.ending;
  }
}
