/** Retries a use of the store for a moment: the machine may be busy, or the store failing over. */
import { type SharedStore, StoreUnavailable, untilUp } from "../../core/shared-store.js";

/** How long (ms) an unavailable store is retried. */
export const OUTAGE_MS = 2_000;

/**
 * Retries `use` while the store does not respond, for up to `ms`. `use` may have run although its response was lost, so
 * it must be idempotent.
 *
 * @throws StoreUnavailable if the outage is longer
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
