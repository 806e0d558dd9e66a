/** A condition variable: waits end at the next notification, after a time-out, or when the waiting call is aborted. */
import type { StopSignal } from "./stop.js";

/** Waiters check their condition themselves, after each wait. */
export class ConditionVariable {
  #waiters: readonly (() => void)[] = NO_WAITERS;

  /** Resolves at the next `notifyAll`, after `ms`, or when `signal` aborts. */
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

  /** Ends all waits, in the order in which they began. */
  notifyAll(): void {
    for (const wake of this.#waiters) wake();
  }
}

/** Each session has a condition variable, and hardly ever a waiter; all share one empty list. */
const NO_WAITERS: readonly (() => void)[] = [];
