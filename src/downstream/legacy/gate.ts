/** A place to wait at until something may have changed. */
import type { StopSignal } from "../../core/stop.js";

export class Gate {
  #waiting: readonly (() => void)[] = NOBODY;

  /** Resolves at the next `wake`, after `ms`, or when `signal` aborts. */
  wait(ms: number, signal: StopSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", wake);
        this.#waiting = this.#waiting.filter((other) => other !== wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal.addEventListener("abort", wake);
      this.#waiting = [...this.#waiting, wake];
    });
  }

  wake(): void {
    for (const wake of this.#waiting) wake();
  }
}

/** Each session has a gate, and hardly ever does anybody wait at one. */
const NOBODY: readonly (() => void)[] = [];
