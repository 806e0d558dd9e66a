/** A place to wait at until something may have changed. */
import type { StopSignal } from "../../core/stop.js";

export class ConditionVariable {
  #waiters: readonly (() => void)[] = NO_WAITERS;

  /** Resolves at the next `wake`, after `ms`, or when `signal` aborts. */
  wait(ms: number, signal: StopSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", wake);
        this.#waiters = this.#waiters.filter((other) => other !== wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal.addEventListener("abort", wake);
      this.#waiters = [...this.#waiters, wake];
    });
  }

  notifyAll(): void {
    for (const wake of this.#waiters) wake();
  }
}

/** Each session has a gate, and hardly ever does anybody wait at one. */
const NO_WAITERS: readonly (() => void)[] = [];
