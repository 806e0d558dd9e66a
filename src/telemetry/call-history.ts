/** Which calls finished last, and how did the last hour go? Rows of calls, and numbers in steps of 10 s for plots. */
import type { CallRecord } from "../core/call-record.js";
import { retainedCopy } from "../runtime/cache-limits.js";

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
  /** When recording began, in ms since 1970: earlier steps say nothing. */
  readonly since: number;
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
  /** When recording began, in ms since 1970. */
  readonly since: number;
  readonly #buckets = new Uint32Array(BUCKETS);
  #current: Step;

  /** `now`: ms since 1970. */
  constructor(now = () => Date.now()) {
    this.#now = now;
    this.since = now();
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
      since: this.since,
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

/** How many calls are kept. */
export const MAX_RECENT_CALLS = 1000;

const TIMES = ["at", "id", "total", "queue", "policy", "upstream", "input"] as const;
const TEXTS = [
  ...(["principal", "host", "method", "target", "server", "outcome"] as const),
  ...(["rule", "decision", "traceId", "arguments", "result"] as const),
] as const;

/** What the arguments and the result of a call were, redacted and cut; absent where the config does not show them. */
export interface CallContent {
  readonly arguments?: string | undefined;
  readonly result?: string | undefined;
}

/** A finished call, as operators see it. */
export type CallRow = CallRecord & CallContent;

/** The latest calls. Numbers are in typed arrays: keeping the records themselves would promote each to the old generation. */
export class RecentCalls {
  readonly #numbers = new Float64Array(MAX_RECENT_CALLS * TIMES.length);
  readonly #texts = new Array<string | undefined>(MAX_RECENT_CALLS * TEXTS.length).fill(undefined);
  #written = 0;

  add(record: CallRecord, content: CallContent = {}): void {
    const slot = this.#written % MAX_RECENT_CALLS;
    this.#written += 1;
    const { ms } = record;
    let at = slot * TIMES.length;
    this.#numbers[at++] = record.at;
    this.#numbers[at++] = record.id;
    this.#numbers[at++] = ms.total;
    this.#numbers[at++] = ms.queue;
    this.#numbers[at++] = ms.policy;
    this.#numbers[at++] = ms.upstream;
    this.#numbers[at] = ms.input;
    let to = slot * TEXTS.length;
    this.#texts[to++] = record.principal;
    this.#texts[to++] = record.host;
    this.#texts[to++] = whole(record.method);
    this.#texts[to++] = whole(record.target);
    this.#texts[to++] = record.server;
    this.#texts[to++] = record.outcome;
    this.#texts[to++] = record.rule;
    this.#texts[to++] = record.decision;
    this.#texts[to++] = record.traceId;
    this.#texts[to++] = content.arguments;
    this.#texts[to] = content.result;
  }

  /** The newest first; `is` chooses rows, of which there are `limit` at most. */
  latest(limit = MAX_RECENT_CALLS, is: (row: CallRow) => boolean = () => true): readonly CallRow[] {
    const rows: CallRow[] = [];
    const oldest = Math.max(0, this.#written - MAX_RECENT_CALLS);
    for (let index = this.#written - 1; index >= oldest && rows.length < limit; index -= 1) {
      const row = this.#row(index % MAX_RECENT_CALLS);
      if (is(row)) rows.push(row);
    }
    return rows;
  }

  /** Percentiles (ms) of the time that each server took to answer, over the calls that are kept. */
  upstreamLatencies(): ReadonlyMap<string, { readonly p50: number; readonly p95: number }> {
    const times = new Map<string, number[]>();
    for (const { server, ms } of this.latest()) {
      if (server === "" || ms.upstream === 0) continue;
      const known = times.get(server);
      if (known === undefined) times.set(server, [ms.upstream]);
      else known.push(ms.upstream);
    }
    return new Map(
      [...times].map(([server, all]) => {
        all.sort((a, b) => a - b);
        const at = (share: number): number =>
          Math.round((all[Math.ceil(share * all.length) - 1] ?? 0) * 1000) / 1000;
        return [server, { p50: at(0.5), p95: at(0.95) }];
      }),
    );
  }

  #row(slot: number): CallRow {
    const number = (name: (typeof TIMES)[number]): number =>
      this.#numbers[slot * TIMES.length + TIMES.indexOf(name)] ?? 0;
    const text = (name: (typeof TEXTS)[number]): string | undefined =>
      this.#texts[slot * TEXTS.length + TEXTS.indexOf(name)];
    return {
      id: number("id"),
      at: number("at"),
      principal: text("principal") ?? "",
      host: text("host") ?? "",
      method: text("method") ?? "",
      target: text("target") ?? "",
      server: text("server") ?? "",
      outcome: text("outcome") ?? "",
      rule: text("rule"),
      decision: text("decision"),
      traceId: text("traceId"),
      ms: {
        total: number("total"),
        queue: number("queue"),
        policy: number("policy"),
        upstream: number("upstream"),
        input: number("input"),
      },
      arguments: text("arguments"),
      result: text("result"),
    };
  }
}

/** Names of tools are the catalog's own; only a text as long as this was cut from a longer one, which it would keep. */
const CUT_LENGTH = 200;
const whole = (text: string): string => (text.length < CUT_LENGTH ? text : retainedCopy(text));
