/** A collector of OTLP over HTTP in JSON, which keeps what it receives in memory. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { until } from "./until.js";

export interface CollectedSpan {
  readonly name: string;
  readonly kind: "internal" | "server" | "client";
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  /** In ms since 1970. */
  readonly start: number;
  readonly end: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 0 unset, 2 error. */
  readonly status: { readonly code: number; readonly message?: string };
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface Collector {
  /** For `telemetry.otlp.endpoint`. */
  readonly endpoint: string;
  /** All spans so far. */
  readonly spans: readonly CollectedSpan[];
  /** The headers of the last export. */
  readonly headers: IncomingMessage["headers"];
  /** The number of exports so far, refused ones included. */
  readonly requests: number;
  /** What it answers from now on; 200 takes the spans. */
  status: number;
  /** Resolves to all spans once there are this many of them. */
  received(count: number): Promise<readonly CollectedSpan[]>;
  /** Closes its connections too. */
  stop(): Promise<void>;
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values: readonly Value[] };
}
interface KeyValue {
  readonly key: string;
  readonly value: Value;
}
interface SentSpan
  extends Omit<CollectedSpan, "kind" | "start" | "end" | "attributes" | "resource" | "links" | "status"> {
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly links?: CollectedSpan["links"];
  readonly status?: Partial<CollectedSpan["status"]>;
  readonly attributes: readonly KeyValue[];
}
interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

const KINDS = [undefined, "internal", "server", "client"] as const;

function readValue({ stringValue, intValue, doubleValue, boolValue, arrayValue }: Value): unknown {
  if (intValue !== undefined) return Number(intValue);
  return stringValue ?? doubleValue ?? boolValue ?? arrayValue?.values.map(readValue);
}

const recordOf = (pairs: readonly KeyValue[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, readValue(value)]));

const millis = (nanos: string): number => Number(BigInt(nanos) / 1000n) / 1000;

function spansOf({ resourceSpans }: Export): readonly CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(
        (span): CollectedSpan => ({
          name: span.name,
          kind: KINDS[span.kind] ?? "internal",
          traceId: span.traceId,
          spanId: span.spanId,
          parentSpanId: span.parentSpanId,
          traceState: span.traceState,
          start: millis(span.startTimeUnixNano),
          end: millis(span.endTimeUnixNano),
          attributes: recordOf(span.attributes),
          // What has its default may be left out.
          links: span.links ?? [],
          status: { code: 0, ...span.status },
          resource: recordOf(resource.attributes),
        }),
      ),
    ),
  );
}

/** @param port default: a free one */
export async function startCollector(port = 0): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const state = { status: 200, requests: 0, headers: {} as IncomingMessage["headers"] };
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    state.requests += 1;
    state.headers = request.headers;
    if (request.url !== "/v1/traces") response.writeHead(404).end();
    else if (state.status !== 200) response.writeHead(state.status).end();
    else {
      spans.push(...spansOf(JSON.parse(Buffer.concat(chunks).toString("utf8")) as Export));
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    }
  };
  const server = createServer((request, response) => void take(request, response));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    get headers() {
      return state.headers;
    },
    get requests() {
      return state.requests;
    },
    get status() {
      return state.status;
    },
    set status(status) {
      state.status = status;
    },
    async received(count) {
      await until(`${count} spans`, () => spans.length >= count);
      return spans;
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
