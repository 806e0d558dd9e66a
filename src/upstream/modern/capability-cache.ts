/**
 * What a server offers to whom. In this era capabilities come with each request, so what a server says of itself may
 * depend on what its client can be asked; each such kind of client is introduced once.
 */
import { LRUCache } from "lru-cache";
import type { JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";

/** Capabilities come in few combinations; a host that makes up ever new ones is not remembered for ever. */
const MAX_CAPABILITY_CLASSES = 100;

export class CapabilityCache {
  #base: JsonObject;
  readonly #discover: (advertised: JsonObject) => Promise<JsonObject>;
  readonly #cache = new LRUCache<string, Promise<JsonObject>>({ max: MAX_CAPABILITY_CLASSES });

  /**
   * @param toNobody what is offered to clients that can be asked nothing
   * @param discover asks the server anew, on behalf of clients of whom so much is promised
   */
  constructor(base: JsonObject, discover: (advertised: JsonObject) => Promise<JsonObject>) {
    this.#base = base;
    this.#discover = discover;
  }

  /** The server offers other things than before, and so perhaps to everybody. */
  reset(base: JsonObject): void {
    this.#base = base;
    this.#cache.clear();
  }

  /** The server's capabilities for clients of whom `advertised` is true; those for all others while it fails to say. */
  async capabilitiesFor(advertised: JsonObject): Promise<JsonObject> {
    if (Object.keys(advertised).length === 0) return this.#base;
    const kind = writeJson(advertised);
    let offered = this.#cache.get(kind);
    if (offered === undefined) {
      offered = this.#discover(advertised);
      this.#cache.set(kind, offered);
    }
    try {
      return await offered;
    } catch {
      // Listing goes on with what is known; the next list asks again.
      this.#cache.delete(kind);
      return this.#base;
    }
  }
}
