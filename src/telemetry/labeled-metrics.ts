/**
 * How are the counters and histograms kept that every call updates? In place, and formatted at a scrape; prom-client,
 * used for all others, hashes the labels at each observation (3 µs a call).
 */

/** Name, help text and labels of a metric. */
export interface LabeledMetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly [string, string, string];
  /** Upper bounds, ascending; a histogram where there are any, else a counter. */
  readonly buckets?: readonly number[];
}

/** One time series: a combination of label values. */
class MetricSeries {
  #count = 0;
  #sum = 0;
  /** Observations per bucket; those above the last bound are in the count only. */
  readonly #bucketCounts: number[];

  constructor(
    private readonly bounds: readonly number[],
    readonly labels: string,
  ) {
    this.#bucketCounts = bounds.map(() => 0);
  }

  add(value: number): void {
    this.#count += 1;
    this.#sum += value;
    const { bounds } = this;
    for (let at = 0; at < bounds.length; at++) {
      if (value > (bounds[at] as number)) continue;
      this.#bucketCounts[at] = (this.#bucketCounts[at] as number) + 1;
      return;
    }
  }

  get count(): number {
    return this.#count;
  }

  counterLines(name: string): readonly string[] {
    return [`${name}{${this.labels}} ${this.#count}`];
  }

  histogramLines(name: string): readonly string[] {
    const bucket = (bound: string, upTo: number) => `${name}_bucket{le="${bound}",${this.labels}} ${upTo}`;
    let upTo = 0;
    const buckets = this.bounds.map((bound, at) => {
      upTo += this.#bucketCounts[at] as number;
      return bucket(String(bound), upTo);
    });
    return [
      ...buckets,
      bucket("+Inf", this.#count),
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

  /** Counts `value` in the series of these labels. */
  add(first: string, second: string, third: string, value = 1): void {
    const tally = this.#series.get(first)?.get(second)?.get(third);
    (tally ?? this.#open(first, second, third)).add(value);
  }

  /** The number of observations by the third label. */
  counts(first: string, second: string): ReadonlyMap<string, number> {
    const series = this.#series.get(first)?.get(second) ?? [];
    return new Map([...series].map(([third, tally]) => [third, tally.count]));
  }

  /** In the text format of Prometheus. */
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
