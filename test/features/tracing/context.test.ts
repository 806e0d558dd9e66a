/** Where the trace context of a call comes from, and what servers and records get of it. */
import "../admin/needed.js";
import { expect, onTestFinished, test } from "vitest";
import { type Collector, startCollector } from "../../support/collector.js";
import { modernRequest } from "../../support/http-host.js";
import { HOSTS, openGateway, type Running } from "../../support/open-gateway.js";
import { until } from "../../support/until.js";

const TOOLS = [{ name: "say", inputSchema: { type: "object" } }];
const SERVERS = { s: { tools: TOOLS }, l: { tools: TOOLS, era: "legacy" } } as const;
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const OTHER = "1af7651916cd43dd8448eb211c80319d";
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;
const AMBIENT = `00-${OTHER}-c7ad6b7169203332-01`;

async function collecting(): Promise<Collector> {
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  return collector;
}
const tracedTo = ({ endpoint }: Collector, otlp: object = {}) => ({
  telemetry: { otlp: { endpoint, ...otlp } },
});
const metaOf = ({ received }: Running) => JSON.parse(received.at(-1)?.body ?? "").params._meta;

/** A call of a modern host over HTTP, with these headers and this `_meta`. */
async function callWith(
  { fetch }: Running,
  headers: Record<string, string>,
  meta: Record<string, string> = {},
) {
  const sent = modernRequest("tools/call", { name: "s__say", arguments: {} }, { headers, meta });
  const response = await fetch("", { method: "POST", body: sent.body, headers: { ...sent.headers } });
  expect(response.status).toBe(200);
}

test("a server of either era receives the span of its own request as the parent, and no other", async () => {
  const collector = await collecting();
  const running = await openGateway(SERVERS, tracedTo(collector));
  for (const kind of HOSTS) {
    const raw = await running.host(kind);
    for (const server of ["s", "l"]) {
      const before = collector.spans.length;
      const _meta = { traceparent: PARENT, tracestate: "a=1", "example.com/own": 1 };
      await raw.request("tools/call", { name: `${server}__say`, arguments: {}, _meta });
      const spans = (await collector.received(before + 2)).slice(before);
      const client = spans.find(({ kind: each }) => each === "client");
      expect(metaOf(running)).toMatchObject({
        traceparent: `00-${TRACE}-${client?.spanId}-01`,
        tracestate: "a=1",
        "example.com/own": 1,
      });
    }
  }
});

test("the context of the HTTP request is the parent where _meta has none", async () => {
  const collector = await collecting();
  const running = await openGateway(SERVERS, tracedTo(collector));
  await callWith(running, { traceparent: AMBIENT, tracestate: "b=2" });
  const spans = await collector.received(2);
  expect(spans.find(({ kind }) => kind === "server")).toMatchObject({
    traceId: OTHER,
    parentSpanId: "c7ad6b7169203332",
    traceState: "b=2",
    links: [],
  });
});

test("the context of the HTTP request is a link where _meta has another", async () => {
  const collector = await collecting();
  const running = await openGateway(SERVERS, tracedTo(collector));
  await callWith(running, { traceparent: AMBIENT }, { traceparent: PARENT });
  await callWith(running, { traceparent: PARENT }, { traceparent: PARENT });
  const spans = await collector.received(4);
  const served = spans.filter(({ kind }) => kind === "server");
  expect(served).toMatchObject([
    { traceId: TRACE, parentSpanId: "b7ad6b7169203331", links: [{ traceId: OTHER }] },
    { traceId: TRACE, parentSpanId: "b7ad6b7169203331", links: [] },
  ]);
});

test("a legacy host's HTTP headers are read like those of a modern one", async () => {
  const collector = await collecting();
  const running = await openGateway(SERVERS, tracedTo(collector));
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const send = (message: object, more: Record<string, string> = {}) =>
    running.fetch("", {
      method: "POST",
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
    });
  const clientInfo = { name: "h", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const opened = await send({ method: "initialize", params });
  const session = opened.headers.get("mcp-session-id") ?? "";
  await opened.text();
  const call = { method: "tools/call", params: { name: "s__say", arguments: {} } };
  await (await send(call, { "mcp-session-id": session, traceparent: AMBIENT })).text();
  const spans = await collector.received(2);
  expect(spans.find(({ kind }) => kind === "server")).toMatchObject({
    traceId: OTHER,
    attributes: { "mcp.session.id": session, "mcp.protocol.version": "2025-11-25" },
  });
});

test("an unsampled call is propagated as not sampled, so that no part of it is traced alone", async () => {
  const collector = await collecting();
  const running = await openGateway(SERVERS, tracedTo(collector, { sampling: 0 }));
  await callWith(running, {});
  expect(metaOf(running).traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  await callWith(running, {}, { traceparent: PARENT.replace(/01$/, "00"), tracestate: "a=1" });
  expect(metaOf(running)).toMatchObject({ traceparent: PARENT.replace(/01$/, "00"), tracestate: "a=1" });
  await running.gateway.stop({ immediate: true });
  expect(collector.spans).toEqual([]);
});

test("without a collector the trace context of the host is forwarded unchanged, valid or not", async () => {
  const running = await openGateway(SERVERS);
  await callWith(running, { traceparent: AMBIENT }, { traceparent: "not one", tracestate: "a=1" });
  expect(metaOf(running)).toMatchObject({ traceparent: "not one", tracestate: "a=1" });
  await callWith(running, { traceparent: AMBIENT });
  expect(metaOf(running)).not.toHaveProperty("traceparent");
});

test("a call through two gateways is one trace, each span a child of the previous one", async () => {
  const collector = await collecting();
  const behind = await openGateway(SERVERS, { auth: undefined, ...tracedTo(collector) });
  const before = await openGateway({}, tracedTo(collector), { inner: { type: "http", url: behind.url } });
  const host = await before.host({ era: "legacy", door: "http" });
  await host.request("tools/call", { name: "inner__s__say", arguments: {}, _meta: { traceparent: PARENT } });
  const ofCall = () => collector.spans.filter(({ traceId }) => traceId === TRACE);
  await until("both gateways' spans", () => ofCall().length === 4);
  const spans = ofCall();
  const below = (id: string | undefined) => spans.find(({ parentSpanId }) => parentSpanId === id);
  const first = below("b7ad6b7169203331");
  const second = below(first?.spanId);
  const third = below(second?.spanId);
  const fourth = below(third?.spanId);
  const chain = [first, second, third, fourth];
  expect(chain.map((span) => span?.kind)).toEqual(["server", "client", "server", "client"]);
  expect(chain.map((span) => span?.name)).toEqual([
    "tools/call inner__s__say",
    "tools/call s__say",
    "tools/call s__say",
    "tools/call say",
  ]);
  expect(new Set(spans.map(({ resource }) => resource["service.instance.id"])).size).toBe(2);
});

test("the record of a call has the trace id of its span", async () => {
  const collector = await collecting();
  const running = await openGateway(SERVERS, tracedTo(collector));
  await callWith(running, {});
  const [span] = await collector.received(2);
  const rows = await (await fetch(`${running.adminUrl}/api/v1/calls`)).json();
  expect(rows).toMatchObject([{ traceId: span?.traceId }]);
});
