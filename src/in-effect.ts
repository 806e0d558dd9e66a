/** The config in effect, and how the next one takes its place: as a whole or not at all, and nobody is disturbed. */
import type { Config } from "./config/config.js";
import type { ChangeFeed } from "./core/change.js";
import { createInside, type Inside, type InsideOptions, type Running } from "./inside.js";
import { COMMAND_LINE } from "./own-calls.js";
import { SteadyFeed } from "./steady-feed.js";

/** So long (ms) may calls take to finish on a server that is not configured any more. */
const RETIRE_MS = 25_000;

export class InEffect {
  readonly #options: InsideOptions;
  readonly #feed: SteadyFeed;
  #inside: Inside;
  /** Servers of earlier configs that have calls to finish. */
  readonly #retiring = new Set<Running>();
  #replacing: Promise<void> = Promise.resolve();

  constructor(config: Config, options: InsideOptions) {
    this.#options = options;
    this.#inside = createInside(config, options);
    this.#feed = new SteadyFeed(this.#inside.catalog.changes);
  }

  get inside(): Inside {
    return this.#inside;
  }

  /** Of the config in effect, whichever that is by then. */
  get changes(): ChangeFeed {
    return this.#feed;
  }

  /**
   * One after the other, in the order they are asked for. Servers that are configured as before go on as they are,
   * and calls under way finish in the inside they began in. `adopt` is told when the next config has taken over.
   */
  replace(next: Config, adopt: (next: Config, before: Config) => void): Promise<void> {
    this.#replacing = this.#replacing.catch(() => {}).then(() => this.#replace(next, adopt));
    return this.#replacing;
  }

  /** Ends every server; a replacement under way comes first. */
  async close(): Promise<void> {
    await this.#replacing.catch(() => {});
    this.#inside.catalog.close();
    const servers = [...this.#inside.servers.values(), ...this.#retiring];
    await Promise.all(servers.map((server) => server.close()));
  }

  async #replace(next: Config, adopt: (next: Config, before: Config) => void): Promise<void> {
    const before = this.#inside;
    const built = createInside(next, this.#options, before);
    // The new catalog may know nothing of new servers yet; hosts go on with the old one until it does.
    await built.catalog.prepare(COMMAND_LINE);
    this.#inside = built;
    adopt(next, before.config);
    this.#feed.switchTo(built.catalog.changes, (client, change) => {
      if (change.kind === "resource") return true;
      const [was, is] = [before, built].map(({ catalog }) => catalog.view(client).list(change.list).revision);
      return was !== is;
    });
    before.catalog.close();
    for (const [name, server] of before.servers) {
      if (built.servers.get(name)?.upstream !== server.upstream) void this.#retire(name, server);
    }
  }

  /** Ends a server that is not configured any more, when the calls under way on it have come to their end. */
  async #retire(name: string, server: Running): Promise<void> {
    this.#retiring.add(server);
    let late: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      late = setTimeout(resolve, RETIRE_MS);
    });
    await Promise.race([server.line.emptied(), patience]);
    clearTimeout(late);
    await server.close().catch((error: unknown) => {
      this.#options.logger.warn({ server: name, error }, "a server did not end well");
    });
    this.#retiring.delete(server);
  }
}
