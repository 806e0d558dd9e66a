/** How did the last hour go? Numbers of finished calls in steps of 10 s, for plots. */
import type { CallRecord } from "../core/call-record.js";

/** Length of a step, in ms. */
const STEP_MS = 10_000;
/** An hour. */
const STEPS = 360;
/** Durations are counted in buckets, each 19 % (2^¼) above the one before, from 0.1 ms to 7 min. */
const BUCKETS = 88;
const FIRST_BUCKET_MS = 0.1;

/** Columns of equal length, the oldest step first. Steps without any call have 0 everywhere. */
export interface CallHistoryPage {
  /** Length of a step, in ms. */
  readonly step: number;
  /** When each step began, in ms since 1970. */
  readonly at: readonly number[];
  readonly calls: readonly number[];
  /** Calls whose outcome was neither `ok` nor `input_required`. */
  readonly errors: readonly number[];
  /** Percentiles of the time from the call to its reply, in ms, exact to 10 %. */
  readonly p50: readonly number[];
  readonly p95: readonly number[];
  /** Calls that waited for a place, or for the answer of a host. */
  readonly waits: readonly number[];
}

interface Step {
  readonly index: number;
  calls: number;
  errors: number;
  waits: number;
  p50: number;
  p95: number;
}

/** Counts calls; only the step under way has buckets. */
export class CallHistory {
  readonly #now: () => number;
  readonly #done: Step[] = [];
  readonly #buckets = new Uint32Array(BUCKETS);
  #current: Step;

  /** `now`: ms since 1970. */
  constructor(now = () => Date.now()) {
    this.#now = now;
    this.#current = emptyStep(this.#index());
  }

  add({ outcome, ms }: CallRecord): void {
    this.#advance();
    const step = this.#current;
    step.calls += 1;
    if (outcome !== "ok" && outcome !== "input_required") step.errors += 1;
    if (ms.queue > 0 || ms.input > 0) step.waits += 1;
    const bucket = Math.round(4 * Math.log2(ms.total / FIRST_BUCKET_MS));
    const counted = Math.min(BUCKETS - 1, Math.max(0, bucket));
    this.#buckets[counted] = (this.#buckets[counted] ?? 0) + 1;
  }

  /** The last hour, without the step under way. */
  page(): CallHistoryPage {
    this.#advance();
    const last = this.#current.index;
    const byIndex = new Map(this.#done.map((step) => [step.index, step]));
    const steps = Array.from({ length: STEPS }, (_, at) => last - STEPS + at).map(
      (index) => byIndex.get(index) ?? emptyStep(index),
    );
    return {
      step: STEP_MS,
      at: steps.map(({ index }) => index * STEP_MS),
      calls: steps.map(({ calls }) => calls),
      errors: steps.map(({ errors }) => errors),
      p50: steps.map(({ p50 }) => p50),
      p95: steps.map(({ p95 }) => p95),
      waits: steps.map(({ waits }) => waits),
    };
  }

  #advance(): void {
    const index = this.#index();
    if (index === this.#current.index) return;
    if (this.#current.calls > 0) {
      this.#current.p50 = this.#percentile(0.5);
      this.#current.p95 = this.#percentile(0.95);
      this.#done.push(this.#current);
      this.#buckets.fill(0);
    }
    while (this.#done[0] !== undefined && this.#done[0].index < index - STEPS) this.#done.shift();
    this.#current = emptyStep(index);
  }

  #percentile(share: number): number {
    const wanted = Math.ceil(share * this.#current.calls);
    let seen = 0;
    const bucket = this.#buckets.findIndex((count) => {
      seen += count;
      return seen >= wanted;
    });
    return Math.round(FIRST_BUCKET_MS * 2 ** (bucket / 4) * 1000) / 1000;
  }

  #index(): number {
    return Math.floor(this.#now() / STEP_MS);
  }
}

const emptyStep = (index: number): Step => ({ index, calls: 0, errors: 0, waits: 0, p50: 0, p95: 0 });
