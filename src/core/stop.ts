/** How is a call cancelled, and how is waiting bounded in time? */
import type { GatewayError } from "./errors.js";

/** The part of AbortSignal that the gateway uses; an AbortSignal is one too. */
export interface StopSignal {
  readonly aborted: boolean;
  /** The argument of `abort`. */
  readonly reason: unknown;
  /** `listener` is called at most once, and never when already aborted. Adding it twice has no effect. */
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * Controller and signal in one object. A call needs two or three, and few are ever aborted; Node's own, which are event
 * targets, cost 8 µs a call.
 */
export class Stop implements StopSignal {
  #aborted = false;
  #reason: unknown;
  /** Nearly always none, one or two. */
  #listeners: readonly (() => void)[] = NO_LISTENERS;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** The signal, for code that must not abort. */
  get signal(): StopSignal {
    return this;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (this.#aborted || this.#listeners.includes(listener)) return;
    this.#listeners = this.#listeners === NO_LISTENERS ? [listener] : [...this.#listeners, listener];
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const [only] = this.#listeners;
    if (this.#listeners.length === 1 && only === listener) this.#listeners = NO_LISTENERS;
    else if (this.#listeners.includes(listener)) {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    }
  }

  /** Calls the listeners in the order they were added. A second call has no effect. */
  abort(reason: unknown = new Error("it was given up")): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    for (const listener of this.#listeners) {
      // A listener may remove later ones.
      if (this.#listeners.includes(listener)) callListener(listener);
    }
    this.#listeners = NO_LISTENERS;
  }
}

const NO_LISTENERS: readonly (() => void)[] = [];

/** A throwing listener stops neither the others nor the caller of `abort`; its error is thrown on the next tick. */
function callListener(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}

/** The outcome of a promise, as a value. */
export type Settled<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: unknown };

/** Wraps `promise` in one that never rejects. */
export const settle = <T>(promise: Promise<T>): Promise<Settled<T>> =>
  promise.then(
    (value) => ({ ok: true, value }),
    (error: unknown) => ({ ok: false, error }),
  );

/**
 * Resolves to the value of `promise`, or to undefined after `ms` (0 or less: at once). `promise` itself continues.
 *
 * @throws what `promise` rejects with before the time-out; a later rejection is dropped.
 */
export async function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    if (ms > 0) timer = setTimeout(resolve, ms, undefined);
    else resolve(undefined);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Resolves when `promise` has settled, after `ms` (0 or less: at once), or when `signal` aborts; never rejects, and leaves
 * neither a timer nor a listener behind.
 */
export function awaitWithin(
  ms: number,
  promise: Promise<unknown>,
  signal: StopSignal | undefined,
): Promise<void> {
  if (ms <= 0 || signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
    promise.then(end, end);
  });
}

/**
 * Settles as `promise` does unless `signal` aborts first; then it rejects with `cancelled()`, and a value that
 * comes too late is passed to `discard`.
 */
export function unlessAborted<T>(
  promise: Promise<T>,
  signal: StopSignal,
  cancelled: () => GatewayError,
  discard: (late: T) => void = () => {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      reject(cancelled());
      // A late rejection carries no news: the caller has its error.
      promise.then(discard, () => {});
    };
    if (signal.aborted) {
      stop();
      return;
    }
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

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
