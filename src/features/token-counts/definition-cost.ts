/** The cost of a tool's definition: bytes for the host, tokens for its model. */

import type { Snapshot } from "../../catalog/view.js";
import { definitionTokens } from "../../core/token-estimate.js";
import { runSteps, type Steps, Work } from "../../runtime/cooperative-yield.js";
import type { JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";

/** The cost of one definition. */
interface DefinitionCost {
  /** The list entry as JSON, in bytes of UTF-8. */
  readonly bytes: number;
  /** An o200k estimate of the parts that hosts send to a model: name, description and input schema. */
  readonly tokens: number;
}

/** The cost of several definitions together. */
export interface ListCost extends DefinitionCost {
  readonly tools: number;
}

/** Estimates the cost of list entries, each entry once. */
export class DefinitionCosts {
  readonly #costs = new WeakMap<JsonObject, DefinitionCost>();

  /** @param item the list entry of a tool, as a host sees it */
  of(item: JsonObject): DefinitionCost {
    let cost = this.#costs.get(item);
    if (cost === undefined) {
      cost = {
        bytes: Buffer.byteLength(writeJson(item)),
        tokens: definitionTokens(item),
      };
      this.#costs.set(item, cost);
    }
    return cost;
  }

  /** Estimates the missing costs of a list, in steps that leave the event loop to calls: 10,000 tools take 0.6 s. */
  prepare(list: Pick<Snapshot, "entries">): Promise<void> {
    return runSteps(this.#prepareInSteps(list));
  }

  *#prepareInSteps({ entries }: Pick<Snapshot, "entries">): Steps<void> {
    const work = new Work();
    for (const { item } of entries) {
      if (!this.#costs.has(item)) yield* work.spend(this.of(item).bytes);
    }
  }

  /** The cost of the tools of each server, in the order of the list. */
  byServer(list: Pick<Snapshot, "entries">): ReadonlyMap<string, ListCost> {
    const servers = new Map<string, ListCost>();
    for (const { route, item } of list.entries) {
      const { tools, bytes, tokens } = servers.get(route.upstream) ?? { tools: 0, bytes: 0, tokens: 0 };
      const cost = this.of(item);
      servers.set(route.upstream, {
        tools: tools + 1,
        bytes: bytes + cost.bytes,
        tokens: tokens + cost.tokens,
      });
    }
    return servers;
  }
}
