/** The config in effect, and how the next one takes its place: as a whole or not at all, and nobody is disturbed. */
import type { Config } from "../config/config.js";
import type { ChangeFeed } from "../core/change.js";
import { PersistentChangeFeed } from "./change-feed.js";
import { CLI_CLIENT } from "./cli-client.js";
import { createPipeline, type Pipeline, type PipelineOptions } from "./pipeline.js";

export class LiveConfig {
  readonly #options: PipelineOptions;
  readonly #changeFeed: PersistentChangeFeed;
  #pipeline: Pipeline;
  #replacing: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(config: Config, options: PipelineOptions) {
    this.#options = options;
    this.#pipeline = createPipeline(config, options);
    this.#changeFeed = new PersistentChangeFeed(this.#pipeline.catalog.changes, options.logger);
  }

  get pipeline(): Pipeline {
    return this.#pipeline;
  }

  /** Of the config in effect, whichever that is by then. */
  get changes(): ChangeFeed {
    return this.#changeFeed;
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
    this.#pipeline.catalog.close();
    const servers = [...this.#pipeline.servers.values()].map((server) => server.close());
    await Promise.all([...servers, this.#options.drainingServers.close()]);
  }

  async #replace(next: Config, adopt: (next: Config, before: Config) => void): Promise<void> {
    if (this.#closed) throw new Error("the gateway ends, and takes no other config");
    const before = this.#pipeline;
    const built = createPipeline(next, this.#options, before);
    // The new catalog may know nothing of new servers yet; hosts go on with the old one until it does.
    await built.catalog.prepare(CLI_CLIENT);
    this.#pipeline = built;
    adopt(next, before.config);
    this.#changeFeed.switchTo(built.catalog.changes, (client, change) => {
      if (change.kind !== "list") return true;
      const [was, is] = [before, built].map(({ catalog }) => catalog.view(client).list(change.list).revision);
      return was !== is;
    });
    before.catalog.close();
    for (const [name, server] of before.servers) {
      if (built.servers.get(name)?.upstream !== server.upstream) this.#options.drainingServers.drain(server);
    }
  }
}
