/** Which calls wait for a target that the lists of their client do not have yet? */
import { Stop, type StopSignal } from "../core/stop.js";

interface Search {
  readonly isFound: () => boolean;
  readonly stop: Stop;
}

/** The calls of one catalog that wait. */
export class SoughtTargets {
  readonly #searches = new Set<Search>();

  /**
   * Runs `wait`, whose signal aborts with `signal`, and as soon as a changed list has the target: other lists may take longer.
   * Resolves when `wait` has ended.
   */
  async during(
    isFound: () => boolean,
    signal: StopSignal | undefined,
    wait: (signal: StopSignal) => Promise<unknown>,
  ): Promise<void> {
    const search = { isFound, stop: new Stop() };
    const abort = (): void => search.stop.abort();
    this.#searches.add(search);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted === true) abort();
    await wait(search.stop.signal);
    signal?.removeEventListener("abort", abort);
    this.#searches.delete(search);
  }

  /** Lists have changed: waits for what they have now end. */
  listsChanged(): void {
    for (const { isFound, stop } of this.#searches) if (!stop.aborted && isFound()) stop.abort();
  }
}
