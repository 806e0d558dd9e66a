/**
 * How lists are loaded once per capability class (single-flight) while other clients of the class wait for
 * the result.
 */
import { LRUCache } from "lru-cache";
import type { ListScope } from "../core/upstream.js";

/** An asking that is under way. */
export interface ListLoad {
  /** Never rejects. */
  readonly done: Promise<void>;
  /** By the monotonic clock, in milliseconds. */
  readonly since: number;
  /** The last load for the class has failed, so clients do not wait for this one. */
  readonly isRetry: boolean;
}

/** How long (ms) a class is left alone after its lists could not be had. */
const RETRY_AFTER_MS = 5_000;

/** Single-flight loads, keyed by capability class. */
export class SingleFlightLoads {
  readonly #running = new Map<string, ListLoad>();
  /** Classes that could not be listed for, and until when they are left alone. */
  readonly #failed = new LRUCache<string, number>({ max: 200 });

  /**
   * The asking on behalf of the class of `audience`: the one under way, or one that `ask` begins. Undefined when
   * one has failed a moment ago. `ask` resolves to whether the lists could be had.
   */
  join({ capabilityClass: name }: ListScope, ask: () => Promise<boolean>): ListLoad | undefined {
    const underWay = this.#running.get(name);
    if (underWay !== undefined) return underWay;
    const since = performance.now();
    if (since < (this.#failed.get(name) ?? 0)) return undefined;
    const isRetry = this.#failed.has(name);
    const load: ListLoad = { done: this.#await(name, ask), since, isRetry };
    this.#running.set(name, load);
    return load;
  }

  async #await(name: string, ask: () => Promise<boolean>): Promise<void> {
    const heard = await ask();
    this.#running.delete(name);
    if (heard) this.#failed.delete(name);
    else this.#failed.set(name, performance.now() + RETRY_AFTER_MS);
  }
}
