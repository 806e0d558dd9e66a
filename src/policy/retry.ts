/** Makes a call a second time, where that can do no harm and its server could not be reached the first time. */
import type { Call, Notice, Reply } from "../core/call.js";
import { type ErrorCode, GatewayError } from "../core/errors.js";
import type { Handler, Middleware } from "../core/handler.js";
import { isSafeToRepeat } from "./repeatable.js";
import type { RetryBudget } from "./retry-budget.js";

export interface RetrySettings {
  readonly budget: RetryBudget;
  /** A call is made again. */
  readonly onRetry?: () => void;
}

/** Belongs outside the breaker, which has to see each attempt for what it was. */
export function retry({ budget, onRetry }: RetrySettings): Middleware {
  return (next: Handler): Handler => {
    function attempt(call: Call): Promise<Reply> {
      let notified = false;
      const notify = (notice: Notice): void => {
        notified = true;
        call.notify(notice);
      };
      return next({ ...call, notify }).catch((error: unknown) => {
        // Whoever has heard of progress would hear of it from the beginning again.
        if (notified || call.signal.aborted || !isRetryable(error) || !budget.take()) throw error;
        onRetry?.();
        return next(call);
      });
    }
    return function retry(call) {
      budget.count();
      // A call with answers goes on where its server waits; made anew it would be another.
      return call.inputResponses === undefined && isSafeToRepeat(call) ? attempt(call) : next(call);
    };
  };
}

const RETRYABLE_CODES: ReadonlySet<ErrorCode> = new Set(["upstream_unavailable", "upstream_closed"]);

/** A server that answered would answer the same again; and who is told when to come back need not come back before. */
const isRetryable = (error: unknown): boolean =>
  error instanceof GatewayError &&
  RETRYABLE_CODES.has(error.code) &&
  error.options.answered !== true &&
  error.options.retryAfterMs === undefined;
