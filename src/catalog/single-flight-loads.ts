/** Loads lists once per capability class (single-flight) while other clients of the class wait for the result. */
import { LRUCache } from "lru-cache";
import type { ListScope } from "../core/upstream.js";

/** A running load. */
export interface ListLoad {
  /** Never rejects. */
  readonly done: Promise<void>;
  /** By the monotonic clock, in milliseconds. */
  readonly since: number;
  /** The last load of the class failed, so clients do not wait for this one. */
  readonly isRetry: boolean;
}

/** Pause (ms) of a class after a failed load. */
const RETRY_AFTER_MS = 5_000;

/** Single-flight loads, keyed by capability class. */
export class SingleFlightLoads {
  readonly #running = new Map<string, ListLoad>();
  /** Classes with a failed load, and the end of their pause. */
  readonly #failed = new LRUCache<string, number>({ max: 200 });

  /**
   * The load for the class of `audience`: the running one, or a new one by `ask`. Undefined during the pause after a
   * failure, unless it is `ignored`. `ask` resolves to whether the lists were loaded.
   */
  join(
    { capabilityClass: name }: ListScope,
    ask: () => Promise<boolean>,
    pause: "kept" | "ignored" = "kept",
  ): ListLoad | undefined {
    const underWay = this.#running.get(name);
    if (underWay !== undefined) return underWay;
    const since = performance.now();
    if (pause === "kept" && since < (this.#failed.get(name) ?? 0)) return undefined;
    const isRetry = this.#failed.has(name);
    const load: ListLoad = { done: this.#await(name, ask), since, isRetry };
    this.#running.set(name, load);
    return load;
  }

  /** Whether the lists of the class of `audience` are being loaded. */
  isRunning({ capabilityClass: name }: ListScope): boolean {
    return this.#running.has(name);
  }

  async #await(name: string, ask: () => Promise<boolean>): Promise<void> {
    const heard = await ask();
    this.#running.delete(name);
    if (heard) this.#failed.delete(name);
    else this.#failed.set(name, performance.now() + RETRY_AFTER_MS);
  }
}
