/** What spans say of calls that fail: at the host's end by other rules than at the server's. */
import { expect, onTestFinished, test } from "vitest";
import { compose, type Handler, observerMiddleware } from "../../../src/core/call.js";
import { callNotes } from "../../../src/core/call-record.js";
import { GatewayError } from "../../../src/core/errors.js";
import { SILENT } from "../../../src/core/logger.js";
import { openTracing } from "../../../src/features/tracing/open-tracing.js";
import { errorBoundary } from "../../../src/resilience/error-boundary.js";
import { type CollectedSpan, startCollector } from "../../support/collector.js";
import { fakeCall, textResult } from "../../support/fake-call.js";
import { testOf } from "../../support/features.js";
import { openGateway } from "../../support/open-gateway.js";

const TOOLS = ["say", "hide"].map((name) => ({ name, inputSchema: { type: "object" } }));

/** A modern server that answers each call with an error of this code. */
async function calling(answer: object, name = "s__say", config: object = {}) {
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  const { host } = await openGateway(
    {
      s: { tools: TOOLS, answer: ({ method }) => (method === "tools/call" ? (answer as never) : undefined) },
    },
    { telemetry: { otlp: { endpoint: collector.endpoint } }, ...config },
  );
  const raw = await host({ era: "modern", door: "http" });
  await raw.request("tools/call", { name, arguments: {} });
  return collector;
}

test("a failing tool is an error in both spans, of the type tool_error", async () => {
  const collector = await calling({ content: [{ type: "text", text: "private words" }], isError: true });
  const spans = await collector.received(2);
  for (const span of spans) {
    expect(span).toMatchObject({ status: { code: 2 }, attributes: { "error.type": "tool_error" } });
    expect(span.attributes).not.toHaveProperty("rpc.response.status_code");
  }
  expect(JSON.stringify(spans)).not.toContain("private words");
});

testOf("policy")("a call refused by a rule has one span, which names the rule", async () => {
  const policy = { rules: [{ name: "no hiding", tools: ["s__hide"], effect: "deny" }] };
  const collector = await calling({ content: [] }, "s__hide", { policy });
  const spans = await collector.received(1);
  expect(spans).toMatchObject([
    {
      kind: "server",
      attributes: { "cardea.outcome": "denied", "cardea.rule": "no hiding", "gen_ai.tool.name": "s__hide" },
    },
  ]);
});

/** The spans of one call whose server does this, whatever the layers between would have made of it. */
async function spansOf(server: Handler, attempts = 1): Promise<readonly CollectedSpan[]> {
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  const tracing = await openTracing(
    { url: `${collector.endpoint}/v1/traces`, headers: {} },
    { logger: SILENT, redact: (text) => text.replaceAll("secret", "***"), version: "1", env: {} },
  );
  if (tracing === undefined) throw new Error("calls are not traced");
  const served = tracing.servedBy({
    name: "files",
    url: undefined,
    features: {},
    credentialsOf: undefined,
    secrets: () => [],
  })(server);
  const again: Handler = async (call) => {
    for (let left = attempts; left > 1; left -= 1) await served(call).catch(() => undefined);
    return served(call);
  };
  const handle = compose([observerMiddleware([tracing.calls]), errorBoundary(SILENT)], again);
  await handle(fakeCall({ record: callNotes(7) }));
  await tracing.close(10_000);
  return collector.spans;
}

test.each([
  [-32602, false],
  [-32601, false],
  [-32002, false],
  [-32603, true],
  [-32000, true],
  [4711, true],
])(
  "the JSON-RPC error %d of a server is an error in the client span, and in the server span: %j",
  async (code, isHosts) => {
    const error = { code, message: "no such secret thing" };
    const spans = await spansOf(async () => ({ kind: "error", error }));
    const failed = {
      status: { code: 2, message: "no such *** thing" },
      attributes: { "error.type": String(code) },
    };
    const client = spans.find(({ kind }) => kind === "client");
    const served = spans.find(({ kind }) => kind === "server");
    expect(client).toMatchObject(failed);
    if (isHosts) expect(served).toMatchObject(failed);
    else expect([served?.status, "error.type" in (served?.attributes ?? {})]).toEqual([{ code: 0 }, false]);
    for (const span of spans) expect(span.attributes["rpc.response.status_code"]).toBe(String(code));
  },
);

test("a server without a response is the error _OTHER in the client span, and the server span has the refusal code", async () => {
  const spans = await spansOf(() =>
    Promise.reject(new GatewayError("upstream_closed", "upstream", "files closed its secret door")),
  );
  expect(spans.find(({ kind }) => kind === "client")).toMatchObject({
    status: { code: 2, message: "files closed its *** door" },
    attributes: { "error.type": "_OTHER", "cardea.outcome": "upstream_closed", "network.transport": "pipe" },
  });
  expect(spans.find(({ kind }) => kind === "server")?.attributes["cardea.outcome"]).toBe("upstream_closed");
});

test("each attempt at a server is a span", async () => {
  const closed = new GatewayError("upstream_closed", "upstream", "closed");
  let calls = 0;
  const spans = await spansOf(async () => {
    calls += 1;
    if (calls < 3) throw closed;
    return textResult("done");
  }, 3);
  const [served] = spans.filter(({ kind }) => kind === "server");
  const clients = spans.filter(({ kind }) => kind === "client");
  expect(clients.map(({ attributes }) => attributes["cardea.outcome"])).toEqual([
    "upstream_closed",
    "upstream_closed",
    "ok",
  ]);
  expect(new Set(clients.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([served?.spanId]));
  expect(new Set(clients.map(({ spanId }) => spanId)).size).toBe(3);
});

test("an unknown name and a URI are redacted, with the secrets known at that moment", async () => {
  let secret = "none so far";
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  const tracing = await openTracing(
    { url: `${collector.endpoint}/v1/traces`, headers: {} },
    { logger: SILENT, redact: (text) => text.replaceAll(secret, "***"), version: "1", env: {} },
  );
  const unknown = { ...fakeCall({ params: { name: "my-token" } }), route: undefined };
  const uri = "file:///my-token";
  const route = { upstream: "files", target: uri, exposed: uri, kind: "resources" } as const;
  for (const next of ["none so far", "my-token"]) {
    secret = next;
    for (const call of [unknown, fakeCall({ method: "resources/read", params: { uri }, route })]) {
      const traced = { ...call, record: callNotes() };
      tracing?.calls.onStart?.(traced);
      tracing?.calls.onEnd(traced, textResult("done"), 1);
    }
  }
  await tracing?.close(10_000);
  expect(
    collector.spans.map(({ attributes }) => attributes["gen_ai.tool.name"] ?? attributes["mcp.resource.uri"]),
  ).toEqual(["my-token", uri, "***", "file:///***"]);
});
