/** Backoff after a failed renewal: when the next one may start, and which error callers receive until then. */
import type { GatewayError } from "../../core/errors.js";
import { backoffMs } from "./current-token.js";

/** A longer `Retry-After` is cut to this. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** The backoff of one token source; longer with each failure in a row. */
export class RenewalPause {
  #failures = 0;
  #until = 0;
  #error: GatewayError | undefined;

  constructor(
    private readonly now: () => number,
    private readonly random: () => number,
  ) {}

  /** Starts a backoff of the returned time (ms), at least `leastMs`. */
  begin(leastMs = 0): number {
    const delay = Math.max(backoffMs(this.#failures, this.random()), Math.min(leastMs, MAX_RETRY_AFTER_MS));
    this.#failures += 1;
    this.#until = this.now() + delay;
    this.#error = undefined;
    return delay;
  }

  /** The error during the last started backoff; undefined: a renewal that a call needs is attempted. */
  explain(error: GatewayError): GatewayError {
    this.#error = error;
    return error;
  }

  isOver(now: number): boolean {
    return now >= this.#until;
  }

  /** The error during a running backoff. */
  get error(): GatewayError | undefined {
    return this.isOver(this.now()) ? undefined : this.#error;
  }

  end(): void {
    this.#failures = 0;
    this.#until = 0;
  }
}
