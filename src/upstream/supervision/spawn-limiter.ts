/** Lets only a few processes start at the same time: a process that starts wants a core for itself. */

import type { StopSignal } from "../../core/stop.js";

/** One that takes longer (ms) is waiting for something else than the processor, and holds nobody up. */
const HOLD_MS = 1_000;

export class SpawnLimiter {
  #permits: number;
  readonly #waiting = new Set<() => void>();

  constructor(permits = 4) {
    this.#permits = permits;
  }

  /** Runs `start` when it is its turn, in the order of asking; at once when `signal` is aborted, to be refused there. */
  async run<T>(start: () => Promise<T>, signal: StopSignal): Promise<T> {
    await this.#acquire(signal);
    const release = once(() => this.#release());
    const timer = setTimeout(release, HOLD_MS);
    try {
      return await start();
    } finally {
      clearTimeout(timer);
      release();
    }
  }

  #acquire(signal: StopSignal): Promise<void> | undefined {
    if (this.#permits > 0 || signal.aborted) {
      this.#permits -= 1;
      return undefined;
    }
    return new Promise((resolve) => {
      const proceed = (): void => {
        this.#waiting.delete(proceed);
        signal.removeEventListener("abort", proceed);
        this.#permits -= 1;
        resolve();
      };
      this.#waiting.add(proceed);
      signal.addEventListener("abort", proceed);
    });
  }

  #release(): void {
    this.#permits += 1;
    const [next] = this.#waiting;
    if (this.#permits > 0) next?.();
  }
}

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    act();
  };
}
