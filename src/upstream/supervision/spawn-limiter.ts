/** How many processes start at the same time? A few: each needs a core while it starts. */
import type { StopSignal } from "../../core/stop.js";

/** A start that takes longer (ms) waits for something else than the processor, and frees its permit. */
const HOLD_MS = 1_000;

/** A semaphore for starts, with `permits` at a time. */
export class SpawnLimiter {
  #permits: number;
  readonly #waiting = new Set<() => void>();

  constructor(permits = 4) {
    this.#permits = permits;
  }

  /** Runs `start` once a permit is free, first in, first out; at once when `signal` aborts, which `start` must check. */
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
