/**
 * What a server offers to whom. In this era capabilities come with each request, so what a server says of itself may
 * depend on what its client can be asked; each such kind of client is introduced once.
 */
import { LRUCache } from "lru-cache";
import type { JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";

/** Capabilities come in few combinations; a host that makes up ever new ones is not remembered for ever. */
const MAX_KINDS = 100;

export class Offers {
  #toNobody: JsonObject;
  readonly #discover: (promised: JsonObject) => Promise<JsonObject>;
  readonly #known = new LRUCache<string, Promise<JsonObject>>({ max: MAX_KINDS });

  /**
   * @param toNobody what is offered to clients that can be asked nothing
   * @param discover asks the server anew, on behalf of clients of whom so much is promised
   */
  constructor(toNobody: JsonObject, discover: (promised: JsonObject) => Promise<JsonObject>) {
    this.#toNobody = toNobody;
    this.#discover = discover;
  }

  /** The server offers other things than before, and so perhaps to everybody. */
  renew(toNobody: JsonObject): void {
    this.#toNobody = toNobody;
    this.#known.clear();
  }

  /** The server's capabilities for clients of whom `promised` is true; those for all others while it fails to say. */
  async to(promised: JsonObject): Promise<JsonObject> {
    if (Object.keys(promised).length === 0) return this.#toNobody;
    const kind = writeJson(promised);
    let offered = this.#known.get(kind);
    if (offered === undefined) {
      offered = this.#discover(promised);
      this.#known.set(kind, offered);
    }
    try {
      return await offered;
    } catch {
      // Listing goes on with what is known; the next list asks again.
      this.#known.delete(kind);
      return this.#toNobody;
    }
  }
}
