/** What does the definition of a tool cost: bytes for the host, tokens for its model? */
import { estimateTokens } from "../core/token-estimate.js";
import type { JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";

/** The cost of one list entry or of several. */
export interface DefinitionCost {
  /** The list entry as JSON, in bytes of UTF-8. */
  readonly bytes: number;
  /** An o200k estimate of what hosts give a model: name, description and input schema. */
  readonly tokens: number;
}

/** Estimates the cost of list entries, each entry once. */
export class DefinitionCosts {
  readonly #costs = new WeakMap<JsonObject, DefinitionCost>();

  /** @param item the list entry of a tool, as a host sees it */
  of(item: JsonObject): DefinitionCost {
    let cost = this.#costs.get(item);
    if (cost === undefined) {
      const { name, description, inputSchema } = item;
      cost = {
        bytes: Buffer.byteLength(writeJson(item)),
        tokens: estimateTokens(writeJson({ name, description, inputSchema })),
      };
      this.#costs.set(item, cost);
    }
    return cost;
  }

  /** The cost of several entries together. */
  sum(items: readonly JsonObject[]): DefinitionCost {
    const all = items.map((item) => this.of(item));
    return {
      bytes: all.reduce((total, { bytes }) => total + bytes, 0),
      tokens: all.reduce((total, { tokens }) => total + tokens, 0),
    };
  }
}
