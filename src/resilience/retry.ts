/** Which calls are safe to repeat, and how many that failed are made a second time? Those within a retry budget. */
import type { Call, Handler, Middleware, Notice, Reply } from "../core/call.js";
import { type ErrorCode, GatewayError } from "../core/errors.js";
import { methodsWhere } from "../core/methods.js";
import { objectAt } from "../wire/json.js";

/** Where retries come from. */
interface RetrySettings {
  readonly budget: RetryBudget;
  /** Called for each retry. */
  readonly onRetry?: () => void;
}

/** Stands outside the circuit breaker, which counts each attempt. */
export function retry({ budget, onRetry }: RetrySettings): Middleware {
  return (next: Handler): Handler => {
    function attempt(call: Call): Promise<Reply> {
      let notified = false;
      const notify = (notice: Notice): void => {
        notified = true;
        call.notify(notice);
      };
      return next({ ...call, notify }).catch((error: unknown) => {
        // A host that received progress would receive it from the beginning again.
        if (notified || call.signal.aborted || !isRetryable(error) || !budget.take()) throw error;
        onRetry?.();
        return next(call);
      });
    }
    return function retry(call) {
      budget.count();
      // A call with answers resumes a round; it cannot be made from the beginning.
      return call.inputResponses === undefined && isSafeToRepeat(call) ? attempt(call) : next(call);
    };
  };
}

const RETRYABLE_CODES: ReadonlySet<ErrorCode> = new Set(["upstream_unavailable", "upstream_closed"]);

/** Not where the server has answered, or has said when to call again. */
const isRetryable = (error: unknown): boolean =>
  error instanceof GatewayError &&
  RETRYABLE_CODES.has(error.code) &&
  error.options.answered !== true &&
  error.options.retryAfterMs === undefined;

interface RetryBudgetSettings {
  /** Retries per call; default 0.2. */
  readonly ratio: number;
  /** Retries per second in any case; default 10. */
  readonly perSecond: number;
}

const DEFAULTS: RetryBudgetSettings = { ratio: 0.2, perSecond: 10 };
/** Unused retries are kept for this long. */
const MAX_SAVED_SECONDS = 10;

/** A share of all calls may be repeated, so that a server in trouble is not flooded with retries. Monotonic time. */
export class RetryBudget {
  readonly #settings: RetryBudgetSettings;
  #left: number;
  #at = performance.now();

  constructor(settings: Partial<RetryBudgetSettings> = {}) {
    this.#settings = { ...DEFAULTS, ...settings };
    this.#left = this.#settings.perSecond;
  }

  /** Counts a first attempt. */
  count(): void {
    this.#left = Math.min(this.#left + this.#settings.ratio, this.#most);
  }

  /** Spends one retry; false when none is left. */
  take(): boolean {
    const now = performance.now();
    const filled = this.#left + ((now - this.#at) / 1000) * this.#settings.perSecond;
    this.#at = now;
    this.#left = Math.min(filled, this.#most);
    // Floating-point sums of 0.2 fall short of whole numbers by less than this.
    if (this.#left < 1 - 1e-9) return false;
    this.#left -= 1;
    return true;
  }

  get #most(): number {
    return this.#settings.perSecond * MAX_SAVED_SECONDS;
  }
}

/** Methods without side effects. Unknown methods may have some. */
const READS = methodsWhere((method) => method.isRead === true);

/**
 * True for what only asks, and for tools that call themselves read-only or idempotent. The server's word is taken
 * for it: a server that lies here harms its own data (spec: server/tools, "Tool Annotations").
 */
export function isSafeToRepeat(call: Call): boolean {
  if (call.method !== "tools/call") return READS.has(call.method);
  const annotations = objectAt(call.route?.item, "annotations");
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}

/** Reads of resources, and calls of tools that are marked read-only. */
export function isRead(call: Call): boolean {
  if (call.method === "resources/read") return true;
  return call.method === "tools/call" && objectAt(call.route?.item, "annotations")?.readOnlyHint === true;
}
