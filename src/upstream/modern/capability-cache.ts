/**
 * Which capabilities does a server advertise to which clients? In this era each request carries client capabilities, on
 * which those of the server may depend; so each combination is discovered once.
 */
import { LRUCache } from "lru-cache";
import type { JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";

/** The maximum number of combinations of client capabilities that are cached. */
const MAX_CAPABILITY_CLASSES = 100;

/** The server capabilities by client capabilities, of one connection. */
export class CapabilityCache {
  #base: JsonObject;
  readonly #discover: (advertised: JsonObject) => Promise<JsonObject>;
  readonly #cache = new LRUCache<string, Promise<JsonObject>>({ max: MAX_CAPABILITY_CLASSES });

  /**
   * @param base the capabilities for clients without capabilities
   * @param discover sends `server/discover` with these client capabilities
   */
  constructor(base: JsonObject, discover: (advertised: JsonObject) => Promise<JsonObject>) {
    this.#base = base;
    this.#discover = discover;
  }

  /** The capabilities of the server have changed, perhaps for all clients. */
  reset(base: JsonObject): void {
    this.#base = base;
    this.#cache.clear();
  }

  /** The capabilities for clients with `advertised`; those of `base` where the discovery fails. */
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
      // The next list discovers again.
      this.#cache.delete(kind);
      return this.#base;
    }
  }
}
