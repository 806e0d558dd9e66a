/** Sets up tracing. Loads the packages of OpenTelemetry only if calls are traced. */
import { randomUUID } from "node:crypto";
import type { Logger } from "../../core/logger.js";
import type { NamedSpan } from "../../core/trace-context.js";
import { writeJson } from "../../wire/json-text.js";
import { CallSpans } from "./call-spans.js";
import { type ExporterOptions, openExporter } from "./exporter.js";
import { SpanIds } from "./ids.js";
import type { OtlpConfig } from "./section.js";
import { type Environment, type SamplingRule, traceSettings } from "./settings.js";
import { type Attributes, pairsText } from "./span.js";
import { SpanQueue } from "./span-queue.js";
import type { Tracing } from "./types.js";
import { WallClock } from "./wall-clock.js";

interface TracingOptions {
  readonly env: Environment;
  readonly logger: Logger;
  /** Redacts secrets. */
  readonly redact: (text: string) => string;
  readonly version: string;
  /** The number of the worker; each exports its own spans. */
  readonly worker?: number | undefined;
}

/** Undefined if calls are not traced. @throws RangeError for invalid settings and for missing packages */
export async function openTracing(
  otlp: OtlpConfig | undefined,
  { env, logger, redact, version, worker }: TracingOptions,
): Promise<Tracing | undefined> {
  const settings = traceSettings(otlp, env);
  if (settings === undefined) return undefined;
  const { resources, sdk } = await loadPackages();
  const { url, headers, delayMs } = settings;
  const named = resources.resourceFromAttributes({
    "service.name": "cardea",
    "service.version": version,
    "service.instance.id": randomUUID(),
    ...(worker !== undefined && { "cardea.worker": worker }),
  });
  const { envDetector, detectResources } = resources;
  // Environment variables override the defaults.
  const resource = named.merge(detectResources({ detectors: [envDetector] }));
  const { exporter, destination } = exporterOf({ url, headers });
  const attributes = pairsText(resource.attributes as Attributes);
  const scope = writeJson({ name: "cardea", version });
  const head = `{"resourceSpans":[{"resource":{"attributes":[${attributes}]},"scopeSpans":[{"scope":${scope},"spans":[`;
  const queue = new SpanQueue({ exporter, logger, destination, delayMs, head, tail: "]}]}]}" });
  const spans = new CallSpans({
    isSampled: sampler(settings.sampling, sdk),
    ids: new SpanIds(),
    clock: new WallClock(),
    redact,
    ended: (facts) => queue.add(facts),
  });
  return {
    calls: spans.calls,
    servedBy: (server) => spans.servedBy(server),
    get lost() {
      return queue.lost;
    },
    close: (withinMs) => queue.close(withinMs),
  };
}

async function loadPackages() {
  try {
    const [resources, sdk] = await Promise.all([
      import("@opentelemetry/resources"),
      import("@opentelemetry/sdk-trace-base"),
    ]);
    return { resources, sdk };
  } catch (cause) {
    throw asMissing(cause);
  }
}

function exporterOf(options: ExporterOptions): ReturnType<typeof openExporter> {
  try {
    return openExporter(options);
  } catch (cause) {
    throw asMissing(cause);
  }
}

/** Any other error is returned unchanged. */
function asMissing(cause: unknown): unknown {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  if (!String(code).endsWith("MODULE_NOT_FOUND")) return cause;
  const sentence =
    "traces are configured, and the packages @opentelemetry/* are not installed: install Cardea without --omit=optional, or take telemetry.otlp out of the config (and OTEL_EXPORTER_OTLP_ENDPOINT out of the environment)";
  return new RangeError(sentence, { cause });
}

type Sdk = Awaited<ReturnType<typeof loadPackages>>["sdk"];
type IsSampled = (traceId: string, parent: NamedSpan | undefined) => boolean;

function sampler({ ratio, followsParent }: SamplingRule, sdk: Sdk): IsSampled {
  const byId = ratioSampler(ratio, sdk);
  if (!followsParent) return byId;
  return (traceId, parent) => parent?.isSampled ?? byId(traceId);
}

/** By trace id, so that all services with this ratio sample the same traces. */
function ratioSampler(
  ratio: number,
  { TraceIdRatioBasedSampler, SamplingDecision }: Sdk,
): (traceId: string) => boolean {
  if (ratio === 0 || ratio === 1) return () => ratio === 1;
  const ofRatio = new TraceIdRatioBasedSampler(ratio);
  // This sampler uses the id only.
  const context = undefined as unknown as Parameters<typeof ofRatio.shouldSample>[0];
  return (traceId) => ofRatio.shouldSample(context, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
}
