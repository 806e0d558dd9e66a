/** The spans of calls between hosts and servers of every era, over HTTP and pipes, as a collector receives them. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { HOSTS, type HostKind, openHost, type ScenarioHost } from "../../scenarios/host.js";
import { openStage, type Stage } from "../../scenarios/stage.js";
import { type CollectedSpan, type Collector, startCollector } from "../../support/collector.js";
import { eachValue } from "../../support/sample.js";
import { UPSTREAMS } from "../../support/scripted/upstreams.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const HOST_SPAN = "b7ad6b7169203331";
const CONTEXT = { traceparent: `00-${TRACE}-${HOST_SPAN}-01`, tracestate: "vendor=1" };
const KINDS: readonly HostKind[] = eachValue(
  "hosts with spans",
  [HOSTS.legacyHttp, HOSTS.legacyStdio, HOSTS.modernHttp, HOSTS.modernStdio],
  ({ era, door }) => [era, door],
);
const SERVERS = UPSTREAMS.filter(({ transport }) => transport !== "sse");
const named = <T extends { readonly name: string }>(all: readonly T[]) =>
  all.map((one) => [one.name, one] as const);

const kindOf = (spans: readonly CollectedSpan[], kind: CollectedSpan["kind"]) =>
  spans.filter((span) => span.kind === kind);
const REVISION = { legacy: "2025-11-25", modern: "2026-07-28" } as const;

/** A stage whose calls are traced. */
async function tracedStage(otlp: object = {}): Promise<{ stage: Stage; collector: Collector }> {
  const collector = await startCollector();
  const telemetry = { otlp: { endpoint: collector.endpoint, ...otlp } };
  return { stage: await openStage(SERVERS, { config: { telemetry } }), collector };
}

describe.each(named(KINDS))("%s", (_name, kind) => {
  let stage: Stage;
  let collector: Collector;
  let host: ScenarioHost;
  beforeAll(async () => {
    ({ stage, collector } = await tracedStage());
    host = await openHost(stage, kind);
  });
  afterAll(async () => {
    await stage.close();
    await collector.stop();
  });

  /** The spans that one piece of work brings to the collector. */
  async function spansOf(count: number, work: () => Promise<unknown>): Promise<readonly CollectedSpan[]> {
    const before = collector.spans.length;
    await work();
    return (await collector.received(before + count)).slice(before);
  }

  test.each(named(SERVERS))(
    "calls %s: one span below the host's, and one below that",
    async (_of, server) => {
      const tool = `${server.key}__work`;
      const spans = await spansOf(
        2,
        () => host.call(tool, { label: "a", steps: 1 }, undefined, CONTEXT).outcome,
      );
      const [client] = kindOf(spans, "client");
      const [served] = kindOf(spans, "server");
      expect(served).toMatchObject({
        name: `tools/call ${tool}`,
        traceId: TRACE,
        parentSpanId: HOST_SPAN,
        traceState: "vendor=1",
        status: { code: 0 },
        attributes: {
          "mcp.method.name": "tools/call",
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": tool,
          "mcp.protocol.version": REVISION[kind.era],
          "network.transport": kind.door === "stdio" ? "pipe" : "tcp",
          "cardea.server": server.key,
          "cardea.outcome": "ok",
          "jsonrpc.request.id": expect.any(String),
        },
      });
      expect(client).toMatchObject({
        name: "tools/call work",
        traceId: TRACE,
        parentSpanId: served?.spanId,
        traceState: "vendor=1",
        attributes: {
          "mcp.method.name": "tools/call",
          "gen_ai.tool.name": "work",
          "mcp.protocol.version": REVISION[server.era],
          "network.transport": server.transport === "stdio" ? "pipe" : "tcp",
          "jsonrpc.request.id": expect.any(String),
        },
      });
      const hasAddress = client?.attributes["server.address"] === "127.0.0.1";
      expect([hasAddress, Number(client?.attributes["server.port"]) > 0]).toEqual(
        server.transport === "stdio" ? [false, false] : [true, true],
      );
      expect(served?.start).toBeLessThanOrEqual(client?.start ?? 0);
      expect(served?.end).toBeGreaterThanOrEqual(client?.end ?? Number.POSITIVE_INFINITY);
      // 2026-07-28 has no sessions, and a pipe is one without an id.
      expect("mcp.session.id" in (served?.attributes ?? {})).toBe(kind === HOSTS.legacyHttp);
      expect("error.type" in (served?.attributes ?? {})).toBe(false);
    },
  );

  test.each(named(SERVERS))(
    "answers a question of %s: the wait of the person is a span between those of the rounds",
    async (_of, { key }) => {
      const tool = `${key}__form`;
      const answer = () => ({
        action: "accept",
        content: { name: "Ann", mail: "ann@example.com", sure: true },
      });
      const spans = await spansOf(5, () => host.call(tool, { label: "q" }, answer, CONTEXT).outcome);
      const [first, second] = kindOf(spans, "server");
      const [wait] = kindOf(spans, "internal");
      expect(kindOf(spans, "client")).toHaveLength(2);
      expect(first?.attributes["cardea.outcome"]).toBe("input_required");
      expect(first?.status.code).toBe(0);
      expect(wait).toMatchObject({
        name: "wait for input",
        traceId: TRACE,
        parentSpanId: HOST_SPAN,
        attributes: { "cardea.input.kinds": ["elicitation"], "cardea.server": key },
      });
      expect(second).toMatchObject({ traceId: TRACE, parentSpanId: HOST_SPAN });
      expect(second?.links).toMatchObject([{ traceId: TRACE, spanId: first?.spanId }]);
      expect(wait?.end).toBeCloseTo(second?.start ?? 0, 1);
      expect(wait?.start).toBeGreaterThanOrEqual(first?.start ?? Number.POSITIVE_INFINITY);
    },
  );

  test("rounds of a call without a trace context are one trace", async () => {
    const tool = "legacy-http__form";
    const answer = () => ({ action: "accept", content: { name: "Ann" } });
    const spans = await spansOf(5, () => host.call(tool, { label: "r" }, answer).outcome);
    const [first, second] = kindOf(spans, "server");
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(first?.parentSpanId ?? "").toBe("");
    expect(second?.parentSpanId).toBe(first?.spanId);
    expect(kindOf(spans, "internal")).toMatchObject([{ parentSpanId: first?.spanId }]);
  });

  test.each(["00-1", `00-${"0".repeat(32)}-${HOST_SPAN}-01`, `ff-${TRACE}-${HOST_SPAN}-01`, 7])(
    "with the invalid traceparent %j a new trace starts, without its tracestate",
    async (traceparent) => {
      const meta = { traceparent, tracestate: "vendor=1" };
      const spans = await spansOf(
        2,
        () => host.call("modern-http__work", { label: "b", steps: 1 }, undefined, meta).outcome,
      );
      const [served] = kindOf(spans, "server");
      expect(served?.traceId).toMatch(/^[0-9a-f]{32}$/);
      expect(served?.traceId).not.toBe(TRACE);
      expect([served?.parentSpanId ?? "", served?.traceState ?? ""]).toEqual(["", ""]);
    },
  );

  test("a fault of the host is no error of the gateway, and an unknown name is not in the span name", async () => {
    const spans = await spansOf(1, () => host.call("nobody_has_this", {}).outcome);
    expect(spans).toMatchObject([
      {
        kind: "server",
        name: "tools/call",
        status: { code: 0 },
        attributes: { "gen_ai.tool.name": "nobody_has_this", "rpc.response.status_code": "-32602" },
      },
    ]);
    expect(spans[0]?.attributes).not.toHaveProperty("error.type");
  });
});

test.each([0, 1])(
  "with sampling %d the decision of the host holds, and other calls are sampled by it",
  async (sampling) => {
    const { stage, collector } = await tracedStage({ sampling });
    onTestFinished(() => collector.stop());
    const host = await openHost(stage, HOSTS.modernHttp);
    const call = (meta?: object) =>
      host.call("modern-http__work", { label: "s", steps: 1 }, undefined, meta as never).outcome;
    await call();
    await call({ traceparent: `00-${TRACE}-${HOST_SPAN}-00` });
    await call(CONTEXT);
    await stage.close();
    const decided = collector.spans.filter(({ traceId }) => traceId === TRACE);
    expect(decided.map(({ kind }) => kind).sort()).toEqual(["client", "server"]);
    expect(collector.spans.length).toBe(sampling === 1 ? 4 : 2);
  },
);

test("with sampling 0.5 about half of the calls are traced, each completely", async () => {
  const { stage, collector } = await tracedStage({ sampling: 0.5 });
  onTestFinished(() => collector.stop());
  const host = await openHost(stage, HOSTS.modernHttp);
  for (let at = 0; at < 200; at += 1)
    await host.call("modern-http__work", { label: `h${at}`, steps: 1 }).outcome;
  await stage.close();
  const traces = new Map<string, number>();
  for (const { traceId } of collector.spans) traces.set(traceId, (traces.get(traceId) ?? 0) + 1);
  expect(new Set(traces.values())).toEqual(new Set([2]));
  // Six standard deviations.
  expect(traces.size).toBeGreaterThan(57);
  expect(traces.size).toBeLessThan(143);
});
