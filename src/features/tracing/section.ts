/** The section `telemetry.otlp` of the config: where traces go. */
import { z } from "zod";
import { sectionOf } from "../../config/section.js";

/** An address of a collector, with a path or without. */
const ENDPOINT = /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/;
const SHARE = /^(?:0(?:\.\d{1,12})?|1(?:\.0{1,12})?)$/;

const schema = z.strictObject({
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

/** Where traces go. What is absent is left to the variables of OpenTelemetry. */
export interface OtlpConfig {
  /** The whole URL, with its path. */
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** From 0 to 1. */
  readonly sampling?: number;
}

declare module "../../config/config.js" {
  interface FeatureSettings {
    /** Absent if the file does not ask for traces; variables still may. */
    readonly "telemetry.otlp"?: OtlpConfig;
  }
}

/** The path of traces in OTLP over HTTP. */
const TRACES_PATH = "/v1/traces";

/** The address of the collector is completed. */
export const section = sectionOf({
  path: "telemetry.otlp",
  schema: schema
    .exactOptional()
    .describe(
      "Exports traces of calls by OTLP over HTTP (`docs/traces.md`). The variables `OTEL_EXPORTER_OTLP_*` do the same without it. A change needs a restart.",
    ),
  change: "restart",
  secretsOf: ({ headers }) => Object.values(headers),
  complete({ endpoint, headers, sampling }: z.output<typeof schema>): OtlpConfig {
    const base = endpoint?.replace(/\/+$/, "");
    return {
      headers,
      ...(base !== undefined && { url: base.endsWith(TRACES_PATH) ? base : `${base}${TRACES_PATH}` }),
      ...(sampling !== undefined && { sampling: Number(sampling) }),
    };
  },
});
