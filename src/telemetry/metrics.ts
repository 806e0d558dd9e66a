/** Which metrics does the gateway have? One method for each, and the Prometheus text of all. */
import type { CounterReading, FeatureCounter, GaugeReading } from "../core/feature.js";
import type { ListKind } from "../core/lists.js";
import type { InputKind } from "../core/methods.js";
import type { ForwardOutcome } from "../core/owners.js";
import type { LoadShedKind } from "../core/pressure.js";
import type { RestartReason } from "../core/upstream.js";
import { BUCKETS, CallMetrics } from "./finished-calls.js";
import { GAUGES, type GaugeLabels } from "./gauges.js";
import { Counter, collectProcessMetrics, Gauge, Histogram, Registry } from "./prometheus.js";

/** Version, and whether process metrics are included. */
export interface MetricsOptions {
  /** The gateway's own version. */
  readonly version: string;
  /** Whether CPU, memory, event loop and collector of the process are measured too, from the first scrape on; default true. */
  readonly process?: boolean;
}

/** All counters, histograms and gauges of one gateway. */
export class Metrics {
  /** Those that every call updates. */
  readonly calls = new CallMetrics();
  readonly #registry = new Registry();
  readonly #gauges = new Map<string, GaugeReadings>();
  /** Calls queued at limits, by server. */
  readonly #queued = new Map<string, number>();

  readonly #inputWait = this.#histogram(
    "cardea_input_wait_seconds",
    "Time that calls waited for a person or a model.",
    ["server", "kind"],
  );
  readonly #restarts = this.#counter("cardea_upstream_restarts_total", "Servers started again.", [
    "server",
    "reason",
  ]);
  readonly #refusedQuestions = this.#counter(
    "cardea_refused_questions_total",
    "Questions of servers that were refused, by reason.",
    ["server", "reason"],
  );
  readonly #unmatchedMessages = this.#counter(
    "cardea_upstream_strays_total",
    "Messages of servers that match no request, such as late responses.",
    ["server"],
  );
  readonly #answerMisfits = this.#counter(
    "cardea_answer_misfits_total",
    "Successes of HTTP APIs that do not fit the output schema of their tool, and went out without structured content.",
    ["server"],
  );
  readonly #shed = this.#counter("cardea_overload_refusals_total", "Requests shed by overload protection.", [
    "what",
  ]);
  readonly #stalls = this.#counter(
    "cardea_event_loop_stalls_total",
    "Times that the event loop was blocked for a second or more.",
    [],
  );
  readonly #listChanges = this.#counter("cardea_list_changed_total", "List changes announced by servers.", [
    "server",
    "list",
  ]);
  readonly #authFailures = this.#counter(
    "cardea_auth_failures_total",
    "Requests that failed authentication, by reason.",
    ["reason"],
  );
  readonly #retries = this.#counter(
    "cardea_retries_total",
    "Calls retried because their server could not be reached.",
    ["server"],
  );
  readonly #cacheHits = this.#counter("cardea_cache_hits_total", "Calls answered from the response cache.", [
    "server",
  ]);
  readonly #clusterForwards = this.#counter(
    "cardea_cluster_forwards_total",
    "Requests forwarded to the replica that owns their session or call, by outcome.",
    ["outcome"],
  );
  readonly #clusterForwardDuration = this.#histogram(
    "cardea_cluster_forward_duration_seconds",
    "Time until the response of a forwarded request began.",
    [],
  );
  readonly #clusterAdoptions = this.#counter(
    "cardea_cluster_adoptions_total",
    "Sessions of replicas that were gone, by what became of them.",
    ["outcome"],
  );
  readonly #clusterLeaseCalls = this.#counter(
    "cardea_cluster_lease_calls_total",
    "Uses of the store of the cluster for limits, by kind.",
    ["kind"],
  );
  readonly #reload = new Gauge({
    name: "cardea_config_last_reload_successful",
    help: "Whether the last read of the config was applied (1) or refused (0).",
    registers: [this.#registry],
  });
  /** Whether the metrics of the process are still to be registered. */
  #processMetricsDue: boolean;

  constructor(options: MetricsOptions) {
    this.#processMetricsDue = options.process ?? true;
    new Gauge({
      name: "cardea_build_info",
      help: "Always 1; version of the gateway and of Node.",
      labelNames: ["version", "node"],
      registers: [this.#registry],
    }).set({ version: options.version, node: process.version }, 1);
    this.#reload.set(1);
  }

  /** A question was answered, declined or cancelled. */
  inputWaited(wait: { readonly server: string; readonly kind: InputKind; readonly seconds: number }): void {
    this.#inputWait.observe({ server: wait.server, kind: wait.kind }, wait.seconds);
  }

  restarted(server: string, reason: RestartReason): void {
    this.#restarts.inc({ server, reason }, 1);
  }

  /** A request of a server was refused before it reached a client. */
  questionRefused(
    server: string,
    reason: "not_promised" | "malformed" | "unattributable" | "too_many",
  ): void {
    this.#refusedQuestions.inc({ server, reason }, 1);
  }

  unmatchedMessage(server: string): void {
    this.#unmatchedMessages.inc({ server }, 1);
  }

  answerMisfit(server: string): void {
    this.#answerMisfits.inc({ server }, 1);
  }

  loadShed(what: LoadShedKind): void {
    this.#shed.inc({ what }, 1);
  }

  eventLoopStalled(): void {
    this.#stalls.inc(1);
  }

  listChanged(server: string, list: ListKind): void {
    this.#listChanges.inc({ server, list }, 1);
  }

  authFailed(reason: string): void {
    this.#authFailures.inc({ reason }, 1);
  }

  retried(server: string): void {
    this.#retries.inc({ server }, 1);
  }

  cacheHit(server: string): void {
    this.#cacheHits.inc({ server }, 1);
  }

  /** A call is queued at a limit until the returned function is called. */
  enterQueue(server: string): () => void {
    this.#queued.set(server, this.queued(server) + 1);
    return () => {
      const left = this.queued(server) - 1;
      if (left > 0) this.#queued.set(server, left);
      else this.#queued.delete(server);
    };
  }

  /** The number of calls queued at limits for `server`. */
  queued(server: string): number {
    return this.#queued.get(server) ?? 0;
  }

  /** A request was forwarded to another process; `ms` until its response began. */
  clusterForwarded(outcome: ForwardOutcome, ms: number): void {
    this.#clusterForwards.inc({ outcome });
    if (outcome === "answered") this.#clusterForwardDuration.observe({}, ms / 1000);
  }

  /** This replica took over a session, or could not. */
  clusterAdopted(outcome: "adopted" | "refused" | "failed"): void {
    this.#clusterAdoptions.inc({ outcome });
  }

  /** The store was asked for a part of a limit. */
  clusterLeaseCall(kind: "rate" | "concurrency"): void {
    this.#clusterLeaseCalls.inc({ kind });
  }

  configReloaded(successful: boolean): void {
    this.#reload.set(successful ? 1 : 0);
  }

  /**
   * Reports `value()` under the labels at every scrape until the returned function is called. A gauge is exported from
   * its first call on. Of several with the same labels the latest that was not stopped counts.
   */
  gauge<K extends keyof GaugeLabels>(
    what: K,
    labels: GaugeLabels[K],
    value: () => number | Promise<number>,
  ): () => void {
    const readings = this.#gauges.get(what) ?? this.#registerKernelGauge(what);
    const key = JSON.stringify(labels);
    const reading: GaugeSource = { labels, value };
    readings.set(key, [...(readings.get(key) ?? []), reading]);
    return () => {
      const others = readings.get(key)?.filter((other) => other !== reading) ?? [];
      if (others.length > 0) readings.set(key, others);
      else readings.delete(key);
    };
  }

  /** Reports a gauge of a feature at every scrape. */
  featureGauge({ gauge: { name, help, labelNames = [] }, labels = {}, read }: GaugeReading): void {
    const readings = this.#gauges.get(name) ?? this.#registerGauge(name, name, help, labelNames);
    readings.set(JSON.stringify(labels), [{ labels, value: read }]);
  }

  /** The counter of a feature; the function adds 1 under the labels. */
  featureCounter({
    name,
    help,
    labelNames,
  }: FeatureCounter): (labels: Readonly<Record<string, string>>) => void {
    const counter = this.#counter(name, help, [...labelNames]);
    return (labels) => counter.inc({ ...labels }, 1);
  }

  /** Reports the values of a counter that a feature keeps at every scrape. */
  featureCount({ counter: { name, help, labelNames }, read }: CounterReading): void {
    new Counter({
      ...{ name, help, labelNames: [...labelNames], registers: [this.#registry] },
      collect() {
        this.reset();
        for (const { labels, value } of read()) this.inc({ ...labels }, value);
      },
    });
  }

  /** The Prometheus text of all metrics, with exemplars; see `negotiatedMetrics`. */
  async text(): Promise<string> {
    if (this.#processMetricsDue) collectProcessMetrics(this.#registry);
    this.#processMetricsDue = false;
    return [await this.#registry.metrics(), this.calls.text].join("\n");
  }

  #registerKernelGauge(what: keyof GaugeLabels): GaugeReadings {
    const [name, help, ...labelNames] = GAUGES[what];
    return this.#registerGauge(what, name, help, labelNames);
  }

  #registerGauge(key: string, name: string, help: string, labelNames: readonly string[]): GaugeReadings {
    const readings: GaugeReadings = new Map();
    new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.#registry],
      async collect() {
        const latest = [...readings.values()].flatMap((sources) => sources.at(-1) ?? []);
        const all = latest.map(async ({ labels, value }) => [{ ...labels }, await value()] as const);
        const read = await Promise.all(all);
        this.reset();
        for (const [labels, value] of read) this.set(labels, value);
      },
    });
    this.#gauges.set(key, readings);
    return readings;
  }

  #counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #histogram(name: string, help: string, labelNames: string[]): Histogram {
    return new Histogram({ name, help, labelNames, buckets: BUCKETS, registers: [this.#registry] });
  }
}

/** By the labels. */
type GaugeReadings = Map<string, readonly GaugeSource[]>;

interface GaugeSource {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: () => number | Promise<number>;
}
