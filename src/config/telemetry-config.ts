/** The section `telemetry`, complete. */
import type { TelemetryShape } from "./telemetry-schema.js";

/** Traces, and the trace context that hosts send. */
export interface TelemetryConfig {
  /** Whether servers get the `baggage` that hosts send. */
  readonly forwardsBaggage: boolean;
  /** Absent if the file does not ask for traces; variables still may. */
  readonly otlp?: OtlpConfig;
}

/** Where traces go. What is absent is left to the variables of OpenTelemetry. */
export interface OtlpConfig {
  /** The whole URL, with its path. */
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** From 0 to 1. */
  readonly sampling?: number;
}

/** The path of traces in OTLP over HTTP. */
const TRACES_PATH = "/v1/traces";

/** Completes the address of the collector. */
export function completeTelemetry({ otlp, baggage }: TelemetryShape): TelemetryConfig {
  const forwardsBaggage = baggage === "forward";
  if (otlp === undefined) return { forwardsBaggage };
  const { endpoint, headers, sampling } = otlp;
  const base = endpoint?.replace(/\/+$/, "");
  return {
    forwardsBaggage,
    otlp: {
      headers,
      ...(base !== undefined && { url: base.endsWith(TRACES_PATH) ? base : `${base}${TRACES_PATH}` }),
      ...(sampling !== undefined && { sampling: Number(sampling) }),
    },
  };
}
