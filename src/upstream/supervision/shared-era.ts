/** How do replicas share what they find out about the era of a server? Before the first connection, and when it has changed. */
import type { ServerConfig } from "../../config/config.js";
import { EraCache, type EraMemory, pinOf } from "./era-cache.js";
import type { UpstreamOptions } from "./options.js";
import { readEraMemory, writeEraMemory } from "./upstream-memory.js";

/** The era cache of one upstream, which begins with what other replicas know. */
export class SharedEra {
  readonly cache: EraCache;
  readonly #server: Pick<ServerConfig, "protocol" | "transport">;
  readonly #others: UpstreamOptions["others"];
  #adopted: Promise<void> | undefined;

  /** `memory`: of an earlier process; others are asked only where there is none. */
  constructor(
    server: Pick<ServerConfig, "protocol" | "transport">,
    others: UpstreamOptions["others"],
    memory: EraMemory | undefined,
  ) {
    this.#server = server;
    this.#others = pinOf(server.protocol) === undefined ? others : undefined;
    this.cache = new EraCache(memory, () => this.#others?.keepEra(writeEraMemory(this.cache.memory)));
    if (memory !== undefined) this.cache.hasConnected = true;
    const isKnown = Object.keys(this.cache.memory).length > 0;
    if (isKnown) this.#adopted = Promise.resolve();
  }

  /** What the first connection waits for; undefined where there is nothing to wait for. Does not reject. */
  adopted(): Promise<void> | undefined {
    if (this.#others === undefined) return undefined;
    this.#adopted ??= this.#others.readEra().then((era) => {
      if (era !== undefined) this.cache.adopt(readEraMemory(this.#server.transport, era));
    });
    return this.#adopted;
  }
}
