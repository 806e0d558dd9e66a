/** Which config is in effect, and how the next one replaces it: as a whole or not at all, without an interruption. */
import type { Config } from "../config/config.js";
import type { ChangeFeed } from "../core/change.js";
import { ANONYMOUS, type Client } from "../core/client.js";
import { PersistentChangeFeed } from "./change-feed.js";
import type { GatewayParts } from "./parts.js";
import { createPipeline, type Pipeline } from "./pipeline.js";
import type { ConfigInEffect } from "./server-runtime.js";
import type { EvaluateQuestion } from "./session-questions.js";

/** The client of commands such as `cardea call`. It declares no capabilities, so servers cannot send it questions. */
export const CLI_CLIENT: Client = {
  principal: ANONYMOUS,
  affinity: "command line",
  session: false,
  endpoint: "",
  capabilities: {},
};

/** Holds the pipeline of the config in effect. */
export class LiveConfig implements ConfigInEffect {
  readonly #parts: GatewayParts;
  readonly #changeFeed: PersistentChangeFeed;
  #pipeline: Pipeline;
  #replacing: Promise<void> = Promise.resolve();
  #closed = false;

  /** Builds the pipeline of `config`, and with it starts its servers. */
  constructor(config: Config, parts: GatewayParts) {
    this.#parts = parts;
    this.#pipeline = createPipeline(config, parts, this);
    this.#changeFeed = new PersistentChangeFeed(this.#pipeline.catalog.changes, parts.telemetry.logger);
  }

  get pipeline(): Pipeline {
    return this.#pipeline;
  }

  /** Stays the same object when the config is replaced. */
  get changes(): ChangeFeed {
    return this.#changeFeed;
  }

  readonly evaluateQuestion: EvaluateQuestion = (server, client, question) =>
    this.#pipeline.evaluateQuestion(server, client, question);

  get isAggregated(): boolean {
    return this.#pipeline.config.servers.length > 1;
  }

  /** Whether no server runs a call or has one queued. */
  get isIdle(): boolean {
    return [...this.#pipeline.servers.values()].every(
      ({ semaphore }) => semaphore.running + semaphore.queued === 0,
    );
  }

  /**
   * Puts `next` into effect and then calls `adopt`; concurrent replacements run in sequence. Servers whose config has
   * not changed keep running, and running calls finish in the pipeline in which they began.
   *
   * @throws Error while the gateway stops; and what `createPipeline` throws.
   */
  replace(next: Config, adopt: (next: Config, before: Config) => void): Promise<void> {
    this.#replacing = this.#replacing.catch(() => {}).then(() => this.#replace(next, adopt));
    return this.#replacing;
  }

  /** Stops every server, after a replacement that is running. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#replacing.catch(() => {});
    this.#pipeline.catalog.close();
    const servers = [...this.#pipeline.servers.values()].map((server) => server.close());
    await Promise.all([...servers, this.#parts.processes.draining.close()]);
  }

  async #replace(next: Config, adopt: (next: Config, before: Config) => void): Promise<void> {
    if (this.#closed) throw new Error("the gateway is stopping and takes no other config");
    const before = this.#pipeline;
    const built = createPipeline(next, this.#parts, this, before);
    // Hosts use the old catalog until the new one has the lists of new servers.
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
      if (built.servers.get(name)?.upstream !== server.upstream) this.#parts.processes.draining.drain(server);
    }
  }
}
