/** How long a promise may be waited for: up to a time-out, or until an abort signal. */
import type { GatewayError } from "./errors.js";
import type { StopSignal } from "./stop.js";

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
 * Resolves to the value of `promise`, or to undefined after `ms` (0 or less: at once). `promise` itself goes on.
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
