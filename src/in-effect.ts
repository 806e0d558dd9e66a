/** The config in effect, and how the next one takes its place: as a whole or not at all, and nobody is disturbed. */
import type { Config } from "./config/config.js";
import type { ChangeFeed } from "./core/change.js";
import { createInside, type Inside, type InsideOptions } from "./inside.js";
import { COMMAND_LINE } from "./own-calls.js";
import { SteadyFeed } from "./steady-feed.js";

export class InEffect {
  readonly #options: InsideOptions;
  readonly #feed: SteadyFeed;
  #inside: Inside;
  #replacing: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(config: Config, options: InsideOptions) {
    this.#options = options;
    this.#inside = createInside(config, options);
    this.#feed = new SteadyFeed(this.#inside.catalog.changes, options.logger);
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
   *
   * @throws Error when everything has begun to end; and what building the next inside throws.
   */
  replace(next: Config, adopt: (next: Config, before: Config) => void): Promise<void> {
    this.#replacing = this.#replacing.catch(() => {}).then(() => this.#replace(next, adopt));
    return this.#replacing;
  }

  /** Ends every server; a replacement under way comes first. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#replacing.catch(() => {});
    this.#inside.catalog.close();
    const servers = [...this.#inside.servers.values()].map((server) => server.close());
    await Promise.all([...servers, this.#options.retired.close()]);
  }

  async #replace(next: Config, adopt: (next: Config, before: Config) => void): Promise<void> {
    if (this.#closed) throw new Error("the gateway ends, and takes no other config");
    const before = this.#inside;
    const built = createInside(next, this.#options, before);
    // The new catalog may know nothing of new servers yet; hosts go on with the old one until it does.
    await built.catalog.prepare(COMMAND_LINE);
    this.#inside = built;
    adopt(next, before.config);
    this.#feed.switchTo(built.catalog.changes, (client, change) => {
      if (change.kind !== "list") return true;
      const [was, is] = [before, built].map(({ catalog }) => catalog.view(client).list(change.list).revision);
      return was !== is;
    });
    before.catalog.close();
    for (const [name, server] of before.servers) {
      if (built.servers.get(name)?.upstream !== server.upstream) this.#options.retired.retire(server);
    }
  }
}
