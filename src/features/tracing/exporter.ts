/**
 * Sends spans to the collector: the transport of `@opentelemetry/exporter-trace-otlp-http`, with its variables, TLS,
 * compression and retries, without its conversion: spans are already text.
 */
import type { Agent } from "node:http";
import { createRequire } from "node:module";
import { throughProxy } from "../../outgoing/through-proxy.js";
import { parseJson } from "../../wire/json-text.js";
import type { SpanBatch } from "./span-batch.js";
import type { SpanExporter } from "./span-queue.js";

/** The parts of the exporter's packages that are used, loaded like the exporter loads them. */
interface Transport {
  /** The settings of the exporter, completed by environment variables. */
  convertLegacyHttpOptions(
    config: { readonly url?: string; readonly headers?: Readonly<Record<string, string>> },
    signal: "TRACES",
    path: "v1/traces",
    required: Readonly<Record<string, string>>,
  ): { readonly url: string; readonly agentFactory: AgentFactory };
  createOtlpHttpExportDelegate(
    options: object,
    serializer: {
      serializeRequest(batch: SpanBatch): Uint8Array;
      deserializeResponse(body: Uint8Array): unknown;
    },
    component: string,
    metrics: { readonly name: string; countItems(batch: SpanBatch): number },
  ): SpanExporter;
}

/** Makes the agent of the exporter, with the TLS settings of the environment. */
type AgentFactory = (protocol: string) => Agent | Promise<Agent>;

/** For a tunnel through a proxy, in ms; as for an export. */
const TUNNEL_MS = 10_000;

/** Endpoint and headers. */
export interface ExporterOptions {
  readonly url: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** @throws Error with the code `MODULE_NOT_FOUND` if the packages are not installed */
export function openExporter({ url, headers }: ExporterOptions): {
  readonly exporter: SpanExporter;
  /** Without credentials. */
  readonly destination: string;
} {
  const own = createRequire(import.meta.url);
  const load = createRequire(own.resolve("@opentelemetry/exporter-trace-otlp-http"));
  const transport = load("@opentelemetry/otlp-exporter-base/node-http") as Transport;
  const config = { headers, ...(url !== undefined && { url }) };
  const json = { "Content-Type": "application/json" };
  const completed = transport.convertLegacyHttpOptions(config, "TRACES", "v1/traces", json);
  const options = {
    ...completed,
    agentFactory: async (protocol: string) =>
      throughProxy(await completed.agentFactory(protocol), completed.url, TUNNEL_MS),
  };
  const serializer = {
    serializeRequest: ({ body }: SpanBatch) => body,
    deserializeResponse: (body: Uint8Array): unknown =>
      body.length === 0 ? {} : parseJson(Buffer.from(body).toString("utf8")),
  };
  const metrics = { name: "span", countItems: ({ count }: SpanBatch) => count };
  const exporter = transport.createOtlpHttpExportDelegate(
    options,
    serializer,
    "otlp_http_span_exporter",
    metrics,
  );
  const { origin, pathname } = new URL(options.url);
  return { exporter, destination: `${origin}${pathname}` };
}
