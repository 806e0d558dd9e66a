/** Traces of calls by OTLP over HTTP: a span for each call and one for each attempt at a server (docs/traces.md). */
import type { Feature, FeatureContext, FeaturedConfig } from "../../cli/feature.js";
import type { FeatureGauge, OpenFeature } from "../../core/feature.js";
import type { Tracing } from "./types.js";

/** Timeout (ms) of the last export, within the 30 s that supervisors allow for a stop. */
const FLUSH_MS = 3_000;
/** The same for an immediate stop. */
const FLUSH_AT_ONCE_MS = 500;

const LOST: FeatureGauge = {
  name: "cardea_trace_lost_spans",
  help: "Spans of traces that never reached the collector, by reason.",
  labelNames: ["reason"],
};

/** Is there with the section `telemetry.otlp`, or with a variable of OpenTelemetry that names a collector. */
export const tracing: Feature = {
  name: "tracing",
  loadSections: async () => [(await import("./section.js")).section],
  gauges: [LOST],
  async open(config, context) {
    const traces = await openTraces(config, context);
    return traces && featureOf(traces);
  },
  async check(config, context) {
    const traces = await openTraces(config, context);
    await traces?.close(0);
  },
};

/** @throws RangeError for settings that cannot be used, and for missing packages */
async function openTraces(
  { features: { "telemetry.otlp": settings } }: FeaturedConfig,
  { env, logger, redact, version, worker }: FeatureContext,
): Promise<Tracing | undefined> {
  const isAskedFor =
    settings !== undefined || Object.keys(env).some((name) => /^OTEL_.*_ENDPOINT$/.test(name));
  if (!isAskedFor) return undefined;
  const { openTracing } = await import("./open-tracing.js");
  return openTracing(settings, { env, logger, redact, version, worker });
}

/** The traces, as the gateway uses them. */
const featureOf = (traces: Tracing): OpenFeature => ({
  name: "tracing",
  observers: [traces.calls],
  serverLayers: (server) => ({ attempt: traces.servedBy(server) }),
  readings: (["queue_full", "export_failed"] as const).map((reason) => ({
    gauge: LOST,
    labels: { reason },
    read: () => traces.lost[reason],
  })),
  close: ({ isImmediate }) => traces.close(isImmediate ? FLUSH_AT_ONCE_MS : FLUSH_MS),
});
