/** Stops calling a server that fails too often, and finds out carefully when it is well again. */
import type { Handler, Middleware, Reply } from "../core/call.js";
import { type ErrorCode, GatewayError } from "../core/errors.js";

/** When a circuit breaker opens and closes. */
export interface BreakerSettings {
  /** The share of failures that opens it; default a half. */
  readonly ratio: number;
  /** Fewer calls than this in the window never open it; default 20. */
  readonly calls: number;
  /** How far back it looks; default 10 s. */
  readonly windowMs: number;
  /** How long it stays open before it tries again; default 10 s. */
  readonly openMs: number;
  /** How many calls in a row must succeed, one at a time, before it closes; default 3. */
  readonly successes: number;
  /** How long a call that tries it may take before another is let through as well; default 2 s. */
  readonly probeMs: number;
}

const DEFAULTS: BreakerSettings = {
  ratio: 0.5,
  calls: 20,
  windowMs: 10_000,
  openMs: 10_000,
  successes: 3,
  probeMs: 2_000,
};
/** The window moves in steps of a tenth of its length. */
const SLOTS = 10;

/** `half_open`: some calls are admitted as probes. */
export type BreakerState = "closed" | "half_open" | "open";
/** The outcome of an admitted call; `none` is no evidence about the server. */
export type CallOutcome = "success" | "failure" | "none";

/** The numbers of `cardea_circuit_state`. */
export const BREAKER_STATE_VALUES: Readonly<Record<BreakerState, number>> = {
  closed: 0,
  half_open: 1,
  open: 2,
};

/** Time is monotonic: a clock that is set changes nothing. */
export class CircuitBreaker {
  readonly #settings: BreakerSettings;
  readonly #slotMs: number;
  readonly #counted = new Array<number>(SLOTS).fill(0);
  readonly #failed = new Array<number>(SLOTS).fill(0);
  /** The number of the newest slot, counted from the start of time. */
  #newest = 0;
  #openedAt: number | undefined;
  /** When it last left `closed`. */
  #openSince: number | undefined;
  /** Until when no other call is let through, because one is trying. */
  #probingUntil = 0;
  #probesPassed = 0;
  /** Calls admitted before the last change of state do not count. */
  #generation = 0;
  /** One for all calls that are let through in this turn. */
  #release = this.#createRelease();

  constructor(settings: Partial<BreakerSettings> = {}) {
    this.#settings = { ...DEFAULTS, ...settings };
    this.#slotMs = this.#settings.windowMs / SLOTS;
  }

  get state(): BreakerState {
    if (this.#openedAt === undefined) return "closed";
    return this.retryAfterMs > 0 ? "open" : "half_open";
  }

  /** How long (ms) it has not been closed; undefined while it is. */
  get openForMs(): number | undefined {
    return this.#openSince === undefined ? undefined : performance.now() - this.#openSince;
  }

  /** How long it will stay open; 0 when a call may be tried. */
  get retryAfterMs(): number {
    if (this.#openedAt === undefined) return 0;
    return Math.max(0, this.#openedAt + this.#settings.openMs - performance.now());
  }

  /** Admits a call, or not. An admitted call must call the returned function once. */
  tryAcquire(): ((outcome: CallOutcome) => void) | undefined {
    if (this.#openedAt === undefined) return this.#release;
    const now = performance.now();
    if (this.retryAfterMs > 0 || now < this.#probingUntil) return undefined;
    const until = now + this.#settings.probeMs;
    this.#probingUntil = until;
    const generation = this.#generation;
    return (outcome) => {
      if (generation !== this.#generation) return;
      // A later probe may be under way, which this one does not end.
      if (this.#probingUntil === until) this.#probingUntil = 0;
      this.#onProbe(outcome);
    };
  }

  #createRelease(): (outcome: CallOutcome) => void {
    const generation = this.#generation;
    return (outcome) => {
      if (outcome !== "none" && generation === this.#generation) this.#count(outcome === "failure");
    };
  }

  /** Forgets all failures: the server was started again, so they were another's. */
  reset(): void {
    this.#generation += 1;
    this.#release = this.#createRelease();
    this.#openedAt = undefined;
    this.#openSince = undefined;
    this.#probingUntil = 0;
    this.#counted.fill(0);
    this.#failed.fill(0);
  }

  #open(): void {
    const since = this.#openSince ?? performance.now();
    this.reset();
    this.#openSince = since;
    this.#openedAt = performance.now();
    this.#probesPassed = 0;
  }

  #onProbe(outcome: CallOutcome): void {
    if (outcome === "failure") this.#open();
    if (outcome !== "success") return;
    this.#probesPassed += 1;
    if (this.#probesPassed >= this.#settings.successes) this.reset();
  }

  #count(failure: boolean): void {
    this.#moveWindow();
    const slot = this.#newest % SLOTS;
    this.#counted[slot] = (this.#counted[slot] ?? 0) + 1;
    if (!failure) return;
    this.#failed[slot] = (this.#failed[slot] ?? 0) + 1;
    const counted = sum(this.#counted);
    if (counted >= this.#settings.calls && sum(this.#failed) >= this.#settings.ratio * counted) this.#open();
  }

  #moveWindow(): void {
    const now = Math.floor(performance.now() / this.#slotMs);
    for (let slot = Math.max(this.#newest + 1, now - SLOTS + 1); slot <= now; slot += 1) {
      this.#counted[slot % SLOTS] = 0;
      this.#failed[slot % SLOTS] = 0;
    }
    this.#newest = now;
  }
}

/** Failures of the hop. A tool error or a refused call is no evidence about the connection. */
const HOP_FAILURES: ReadonlySet<ErrorCode> = new Set([
  "upstream_unavailable",
  "upstream_closed",
  "timed_out",
]);

function outcomeOf(error: unknown): CallOutcome {
  if (!(error instanceof GatewayError)) return "none";
  const { code, options } = error;
  if (code === "upstream_rejected") return "success";
  if (!HOP_FAILURES.has(code)) return "none";
  // A lost connection pauses calls by itself, and not longer than its backoff.
  if (options.supervised === true) return "none";
  // An answer that cannot be read is an answer.
  return code === "upstream_closed" && options.answered === true ? "success" : "failure";
}

/** While the breaker is open, calls fail at once instead of waiting for a server that is known to be down. */
export function circuitBreaker(breaker: CircuitBreaker, server: string): Middleware {
  return (next: Handler): Handler =>
    function circuitBreaker(call) {
      const release = breaker.tryAcquire();
      if (release === undefined) return Promise.reject(circuitOpenError(server, breaker.retryAfterMs));
      const answered = (reply: Reply): Reply => {
        release("success");
        return reply;
      };
      const failed = (error: unknown): never => {
        release(outcomeOf(error));
        throw error;
      };
      return next(call).then(answered, failed);
    };
}

const circuitOpenError = (server: string, retryAfterMs: number): GatewayError =>
  new GatewayError("upstream_unavailable", "upstream", `"${server}" failed too often; circuit breaker open`, {
    server,
    retryable: true,
    // Half open with a probe under way: the next one may go when that one is back.
    retryAfterMs: Math.max(retryAfterMs, 1000),
  });

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
