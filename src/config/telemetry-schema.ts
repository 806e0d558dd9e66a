/** The schema of the section `telemetry`: export of traces, and forwarding of trace context. */
import { z } from "zod";

/** An address of a collector, with a path or without. */
const ENDPOINT = /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/;
const SHARE = /^(?:0(?:\.\d{1,12})?|1(?:\.0{1,12})?)$/;

const otlp = z.strictObject({
  endpoint: z
    .string()
    .regex(ENDPOINT, { error: 'must be an address such as "http://127.0.0.1:4318"' })
    .meta({ pattern: `${ENDPOINT.source}|\\$\\{` })
    .exactOptional()
    .describe(
      "The collector; `/v1/traces` is added where the address does not end so. Default: `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, `OTEL_EXPORTER_OTLP_ENDPOINT`, else `http://localhost:4318`.",
    ),
  headers: z
    .record(z.string().min(1), z.string())
    .default({})
    .describe("HTTP headers of each export, such as a token; use variables."),
  sampling: z
    .union([
      z.number().min(0).max(1),
      z
        .string()
        .regex(SHARE, { error: "must be a number from 0 to 1" })
        .meta({ pattern: `${SHARE.source}|\\$\\{` }),
    ])
    .exactOptional()
    .describe(
      "The share of the calls that are traced, from 0 to 1, where the host has not decided it. Default: `OTEL_TRACES_SAMPLER`, else 1.",
    ),
});

/** The section `telemetry`. */
export const telemetrySchema = z.strictObject({
  otlp: otlp
    .exactOptional()
    .describe(
      "Exports traces of calls by OTLP over HTTP (`docs/traces.md`). The variables `OTEL_EXPORTER_OTLP_*` do the same without it. A change needs a restart.",
    ),
  baggage: z
    .enum(["drop", "forward"])
    .default("drop")
    .describe(
      "Whether `baggage` in the `_meta` of hosts' requests is forwarded to servers: it may contain personal data.",
    ),
});
/** The section as it is written. */
export type TelemetryShape = z.infer<typeof telemetrySchema>;
