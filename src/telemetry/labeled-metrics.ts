/**
 * How are the counters and histograms kept that every call updates? In place, and formatted at a scrape; prom-client,
 * used for all others, hashes the labels at each observation (3 µs a call).
 */

import { exemplarOf } from "./open-metrics.js";

/** Name, help text and labels of a metric. */
export interface LabeledMetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly [string, string, string];
  /** Upper bounds, ascending; a histogram where there are any, else a counter. */
  readonly buckets?: readonly number[];
}

/** The last traced observation of each bucket, in columns: an object for each call would be kept in the old generation. */
class Exemplars {
  readonly #traces: string[] = [];
  readonly #values: number[] = [];
  readonly #times: number[] = [];

  set(bucket: number, traceId: string, value: number): void {
    this.#traces[bucket] = traceId;
    this.#values[bucket] = value;
    this.#times[bucket] = Date.now();
  }

  /** As it follows the sample of the bucket; "" where there is none. */
  text(bucket: number): string {
    const traceId = this.#traces[bucket];
    return traceId === undefined
      ? ""
      : exemplarOf(traceId, this.#values[bucket] ?? 0, (this.#times[bucket] ?? 0) / 1000);
  }
}

/** One time series: a combination of label values. */
class MetricSeries {
  #count = 0;
  #sum = 0;
  /** Observations per bucket; those above the last bound are in the count only. */
  readonly #bucketCounts: number[];
  #exemplars: Exemplars | undefined;

  constructor(
    private readonly bounds: readonly number[],
    readonly labels: string,
  ) {
    this.#bucketCounts = bounds.map(() => 0);
  }

  add(value: number, traceId: string | undefined): void {
    this.#count += 1;
    this.#sum += value;
    const { bounds } = this;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] as number)) at += 1;
    if (at < bounds.length) this.#bucketCounts[at] = (this.#bucketCounts[at] as number) + 1;
    if (traceId === undefined) return;
    this.#exemplars ??= new Exemplars();
    this.#exemplars.set(at, traceId, value);
  }

  get count(): number {
    return this.#count;
  }

  counterLines(name: string): readonly string[] {
    return [`${name}{${this.labels}} ${this.#count}`];
  }

  histogramLines(name: string): readonly string[] {
    const bucket = (bound: string, upTo: number, at: number) =>
      `${name}_bucket{le="${bound}",${this.labels}} ${upTo}${this.#exemplars?.text(at) ?? ""}`;
    let upTo = 0;
    const buckets = this.bounds.map((bound, at) => {
      upTo += this.#bucketCounts[at] as number;
      return bucket(String(bound), upTo, at);
    });
    return [
      ...buckets,
      bucket("+Inf", this.#count, this.bounds.length),
      `${name}_sum{${this.labels}} ${this.#sum}`,
      `${name}_count{${this.labels}} ${this.#count}`,
    ];
  }
}

/** All series of one metric, by three label values; the caller bounds the number of values (`finished-calls.ts`). */
export class LabeledMetric {
  readonly #settings: LabeledMetricOptions;
  readonly #series = new Map<string, Map<string, Map<string, MetricSeries>>>();

  constructor(settings: LabeledMetricOptions) {
    this.#settings = settings;
  }

  /** Counts `value` in the series of these labels; `traceId`: of the trace that shows how it came about. */
  add(first: string, second: string, third: string, value = 1, traceId?: string): void {
    const tally = this.#series.get(first)?.get(second)?.get(third);
    (tally ?? this.#open(first, second, third)).add(value, traceId);
  }

  /** The number of observations by the third label. */
  counts(first: string, second: string): ReadonlyMap<string, number> {
    const series = this.#series.get(first)?.get(second) ?? [];
    return new Map([...series].map(([third, tally]) => [third, tally.count]));
  }

  /** In the text format of Prometheus, with exemplars. */
  get text(): string {
    const { name, help, buckets } = this.#settings;
    const lines = [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${buckets === undefined ? "counter" : "histogram"}`,
    ];
    for (const bySecond of this.#series.values()) {
      for (const byThird of bySecond.values()) {
        for (const tally of byThird.values()) {
          lines.push(...(buckets === undefined ? tally.counterLines(name) : tally.histogramLines(name)));
        }
      }
    }
    return `${lines.join("\n")}\n`;
  }

  #open(first: string, second: string, third: string): MetricSeries {
    const { labels, buckets = [] } = this.#settings;
    const values = [first, second, third];
    const tally = new MetricSeries(
      buckets,
      labels.map((label, at) => `${label}="${escapeLabel(values[at] ?? "")}"`).join(),
    );
    const bySecond = this.#series.get(first) ?? new Map<string, Map<string, MetricSeries>>();
    const byThird = bySecond.get(second) ?? new Map<string, MetricSeries>();
    this.#series.set(first, bySecond.set(second, byThird.set(third, tally)));
    return tally;
  }
}

/** Escapes a label value for the Prometheus text format. */
const escapeLabel = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
