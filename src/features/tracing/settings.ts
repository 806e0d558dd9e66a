/**
 * Whether calls are traced, where spans are exported and which are sampled: from the config and the variables of
 * OpenTelemetry.
 */
import type { OtlpConfig } from "./section.js";

/** The environment of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of tracing. */
export interface TraceSettings {
  /** Undefined if the exporter takes it from variables, or uses its default. */
  readonly url: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly sampling: SamplingRule;
  /** Batch delay (ms). */
  readonly delayMs: number;
}

/** The sampler. */
export interface SamplingRule {
  /** From 0 to 1. */
  readonly ratio: number;
  /** Whether the host's sampling decision holds. */
  readonly followsParent: boolean;
}

/** Keyed by the values of `OTEL_TRACES_SAMPLER`. */
const SAMPLERS: ReadonlyMap<string, (ratio: number) => SamplingRule> = new Map<
  string,
  (ratio: number) => SamplingRule
>([
  ["always_on", () => ({ ratio: 1, followsParent: false })],
  ["always_off", () => ({ ratio: 0, followsParent: false })],
  ["traceidratio", (ratio) => ({ ratio, followsParent: false })],
  ["parentbased_always_on", () => ({ ratio: 1, followsParent: true })],
  ["parentbased_always_off", () => ({ ratio: 0, followsParent: true })],
  ["parentbased_traceidratio", (ratio) => ({ ratio, followsParent: true })],
]);

/**
 * The config file overrides environment variables. Undefined if calls are not traced. @throws RangeError for an invalid
 * variable
 */
export function traceSettings(otlp: OtlpConfig | undefined, env: Environment): TraceSettings | undefined {
  const { value } = reader(env);
  if (value("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return undefined;
  if (otlp === undefined && !isAskedFor(env)) return undefined;
  if (otlp?.url === undefined) checkDestination(env);
  const { headers = {}, url, sampling } = otlp ?? {};
  return {
    url,
    headers,
    sampling: sampling === undefined ? samplingOf(env) : { ratio: sampling, followsParent: true },
    delayMs: delayOf(env),
  };
}

/** The OpenTelemetry specification treats an empty variable as unset. */
const reader = (env: Environment) => ({
  value: (name: string): string | undefined => env[name]?.trim() || undefined,
});

const ENDPOINTS = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const PROTOCOLS = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];

function isAskedFor(env: Environment): boolean {
  const { value } = reader(env);
  const exporters = value("OTEL_TRACES_EXPORTER")?.split(",") ?? ["otlp"];
  const takesOtlp = exporters.some((name) => name.trim() === "otlp");
  return takesOtlp && ENDPOINTS.some((name) => value(name) !== undefined);
}

/** @throws RangeError if the variables name no usable endpoint */
function checkDestination(env: Environment): void {
  const { value } = reader(env);
  const set = (names: readonly string[]) => names.find((name) => value(name) !== undefined);
  const protocol = set(PROTOCOLS);
  if (protocol !== undefined && value(protocol) === "grpc") {
    throw new RangeError(
      `${protocol} is grpc, and traces are exported over HTTP: set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json and the address of the collector's HTTP receiver (port 4318), or OTEL_TRACES_EXPORTER=none`,
    );
  }
  const endpoint = set(ENDPOINTS);
  if (endpoint === undefined) return;
  const url = value(endpoint) ?? "";
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return;
  throw new RangeError(`${endpoint} must be an http or https address, such as http://127.0.0.1:4318`);
}

/** Spans are exported soon; the exporter's own default of 5 s would need more memory. */
const DELAY_MS = 1_000;

/** @throws RangeError */
function delayOf(env: Environment): number {
  const written = reader(env).value("OTEL_BSP_SCHEDULE_DELAY");
  if (written === undefined) return DELAY_MS;
  if (/^\d{1,6}$/.test(written)) return Number(written);
  throw new RangeError("OTEL_BSP_SCHEDULE_DELAY must be a number of milliseconds");
}

/** @throws RangeError */
function samplingOf(env: Environment): SamplingRule {
  const { value } = reader(env);
  const name = value("OTEL_TRACES_SAMPLER") ?? "parentbased_always_on";
  const rule = SAMPLERS.get(name);
  if (rule === undefined) {
    throw new RangeError(
      `OTEL_TRACES_SAMPLER must be one of ${[...SAMPLERS.keys()].join(", ")}; telemetry.otlp.sampling in the config takes precedence`,
    );
  }
  const ratio = Number(value("OTEL_TRACES_SAMPLER_ARG") ?? 1);
  if (!(ratio >= 0 && ratio <= 1))
    throw new RangeError("OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1");
  return rule(ratio);
}
