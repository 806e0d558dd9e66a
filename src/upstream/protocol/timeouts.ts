/** Waiting that comes to an end: after a time, or when whoever waits has given up. */

import type { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";

export type Settled<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: unknown };

/** The same promise as one that never rejects. */
export const settle = <T>(promise: Promise<T>): Promise<Settled<T>> =>
  promise.then(
    (value) => ({ ok: true, value }),
    (error: unknown) => ({ ok: false, error }),
  );

/** What `promise` comes to, or undefined when that takes longer than `ms`. */
export async function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * What `promise` comes to, as long as `signal` is not aborted; then it rejects with `cancelled()`, and what comes
 * too late is handed to `discard`.
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
      // Its failure, should it fail as well, tells nobody anything new.
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
