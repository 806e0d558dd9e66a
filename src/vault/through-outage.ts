/** How long does a record wait for a store that does not answer? A moment: the machine may be busy, or the store fail over. */
import { type SharedStore, StoreUnavailable, untilUp } from "../core/cluster.js";

/** How long (ms) a use of a record waits for a store that is away. */
export const OUTAGE_MS = 2_000;

/**
 * Repeats `use` where the store does not answer, until `ms` are over. `use` may have been done although its answer did not come: it is one
 * that may be done twice.
 *
 * @throws StoreUnavailable where the store is away for longer
 */
export async function throughOutage<T>(
  store: Pick<SharedStore, "isUp" | "onChange">,
  ms: number,
  use: () => Promise<T>,
): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    try {
      return await use();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      const left = end - performance.now();
      if (left <= 0 || !(await untilUp(store, left))) throw error;
    }
  }
}
