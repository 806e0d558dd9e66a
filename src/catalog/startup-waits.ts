/** Cancels waits for starting servers: at the end of the start, at the end of the call, and when the gateway drains. */
import { Stop, type StopSignal } from "../core/stop.js";

/** The waits of one catalog. */
export class StartupWaits {
  readonly #stops = new Set<Stop>();
  #isOver = false;

  /** Whether the gateway drains, so that first starts are no longer awaited. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Ends all waits. */
  end(): void {
    this.#isOver = true;
    for (const stop of this.#stops) stop.abort();
  }

  /** Runs `wait`, which ends early when its signal aborts: with `signal`, and at `end`. */
  async during(
    signal: StopSignal | undefined,
    wait: (signal: StopSignal) => Promise<unknown>,
  ): Promise<void> {
    const stop = new Stop();
    const abort = (): void => stop.abort();
    this.#stops.add(stop);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted === true || this.#isOver) abort();
    await wait(stop.signal);
    signal?.removeEventListener("abort", abort);
    this.#stops.delete(stop);
  }
}
