/** Merges the metrics of several processes, by series: sums, except for some gauges. */
import type { FeatureGauge } from "../../core/feature.js";
import { splitExemplar } from "../../telemetry/open-metrics.js";

/** How these gauges merge; everything else is summed. */
const MERGE_FUNCTIONS: Readonly<Record<string, (a: number, b: number) => number>> = {
  // In one worker the server is idle while it serves calls in another.
  cardea_upstream_up: Math.max,
  cardea_server_state: Math.max,
  cardea_circuit_state: Math.max,
  cardea_build_info: Math.max,
  cardea_config_last_reload_successful: Math.min,
  cardea_overload_level: Math.max,
  // Each worker is a replica that counts all replicas.
  cardea_cluster_replicas: Math.max,
  cardea_cluster_store_up: Math.min,
  // Each process counts the same list.
  cardea_orphaned_processes: Math.max,
  nodejs_version_info: Math.max,
  process_start_time_seconds: Math.min,
};
/** Families merged by maximum: the slowest event loop, and the limit of open files. */
const MAXIMA = /^nodejs_eventloop_lag|^process_max_fds$/;

interface Family {
  readonly comments: readonly string[];
  /** Keyed by name and labels. */
  readonly samples: Map<string, number>;
  /** Keyed likewise; the first worker's value counts. */
  readonly exemplars: Map<string, string>;
}

/**
 * @param texts in the Prometheus text format, with exemplars
 * @param gauges those of features
 */
export function mergeMetrics(texts: readonly string[], gauges: readonly FeatureGauge[] = []): string {
  const families = new Map<string, Family>();
  for (const text of texts) for (const family of read(text)) add(families, ...family, gauges);
  return textOf([...families.values()]);
}

/** The counters and histograms of a text; they must survive their process. */
function monotonicSeriesOf(text: string): string {
  const counts = [...read(text)].filter(([, { comments }]) =>
    comments.some((comment) => /^# TYPE \S+ (counter|histogram)$/.test(comment)),
  );
  return textOf(counts.map(([, family]) => family));
}

const textOf = (families: readonly Family[]): string =>
  families
    .flatMap(({ comments, samples, exemplars }) => [
      ...comments,
      ...[...samples].map(([series, value]) => `${series} ${value}${exemplars.get(series) ?? ""}`),
    ])
    .join("\n")
    .concat("\n");

function add(
  families: Map<string, Family>,
  name: string,
  family: Family,
  gauges: readonly FeatureGauge[],
): void {
  const { samples } = family;
  const known = families.get(name);
  if (known === undefined) {
    families.set(name, family);
    return;
  }
  const merge = gauges.find((gauge) => gauge.name === name)?.merge;
  const together =
    MERGE_FUNCTIONS[name] ??
    (merge !== undefined ? Math[merge] : MAXIMA.test(name) ? Math.max : (a: number, b: number) => a + b);
  for (const [series, value] of samples) {
    const before = known.samples.get(series);
    known.samples.set(series, before === undefined ? value : together(before, value));
  }
  for (const [series, exemplar] of family.exemplars)
    if (!known.exemplars.has(series)) known.exemplars.set(series, exemplar);
}

/** The families of a text: name, comments (`# HELP`, `# TYPE`) and samples. */
function* read(text: string): Generator<readonly [string, Family]> {
  let comments: string[] = [];
  let samples = new Map<string, number>();
  let exemplars = new Map<string, string>();
  let name = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("#")) {
      const of = line.split(" ", 3)[2] ?? "";
      if (of !== name) {
        if (name !== "") yield [name, { comments, samples, exemplars }];
        [name, comments, samples, exemplars] = [of, [], new Map(), new Map()];
      }
      comments.push(line);
    } else if (line !== "") {
      const [sample, exemplar] = splitExemplar(line);
      // A label may hold a space; a value cannot.
      const at = sample.lastIndexOf(" ");
      const series = sample.slice(0, at);
      samples.set(series, Number(sample.slice(at + 1)));
      if (exemplar !== "") exemplars.set(series, exemplar);
    }
  }
  if (name !== "") yield [name, { comments, samples, exemplars }];
}

/** The metrics of a running worker; no text if it did not respond. */
interface WorkerMetrics {
  readonly worker: number;
  /** A restarted worker has the same number, another pid, and counts from 0. */
  readonly pid: number | undefined;
  readonly text: string | undefined;
}

/** The metrics of all workers as one text. Counters never decrease: a scraper would treat that as a restart. */
export class MonotonicMetrics {
  /** The last text, keyed by worker number. */
  readonly #last = new Map<number, { readonly pid: number | undefined; readonly text: string }>();
  /** The counters of exited workers, from their last text. */
  #endedCounts = "";
  readonly #gauges: readonly FeatureGauge[];

  /** `gauges`: those of features. */
  constructor(gauges: readonly FeatureGauge[] = []) {
    this.#gauges = gauges;
  }

  /**
   * @param running the metrics of every running worker; one without a text counts with its last one
   * @param others further texts to merge
   */
  merged(running: readonly WorkerMetrics[], others: readonly string[]): string {
    for (const [worker, { pid, text }] of this.#last) {
      if (running.some((each) => each.worker === worker && each.pid === pid)) continue;
      this.#endedCounts = mergeMetrics([this.#endedCounts, monotonicSeriesOf(text)]);
      this.#last.delete(worker);
    }
    for (const { worker, pid, text } of running)
      if (text !== undefined) this.#last.set(worker, { pid, text });
    const texts = [...[...this.#last.values()].map(({ text }) => text), this.#endedCounts, ...others];
    return mergeMetrics(texts, this.#gauges);
  }
}
