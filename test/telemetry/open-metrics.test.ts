/** The metrics as OpenMetrics, with the traces of calls as exemplars, for scrapers that ask for it. */
import "../features/admin/needed.js";
import { expect, onTestFinished, test } from "vitest";
import { CallMetrics } from "../../src/telemetry/finished-calls.js";
import { LabeledMetric } from "../../src/telemetry/labeled-metrics.js";
import { fromOpenMetrics, negotiatedMetrics } from "../../src/telemetry/open-metrics.js";
import { startCollector } from "../support/collector.js";
import { testOf } from "../support/features.js";
import { modernRequest } from "../support/http-host.js";
import { openGateway } from "../support/open-gateway.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const OTHER = "1af7651916cd43dd8448eb211c80319d";
const OPEN = "application/openmetrics-text";
/** What Prometheus 2.42 sends. */
const PROMETHEUS = `${OPEN};version=1.0.0,${OPEN};version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1`;

const timed = (): LabeledMetric =>
  new LabeledMetric({ name: "time", help: "Some help.", labels: ["a", "b", "c"], buckets: [1, 10] });

test.each([
  [PROMETHEUS, true],
  [OPEN, true],
  ["Application/OpenMetrics-Text; version=1.0.0; q=0.1", true],
  [`text/plain, ${OPEN};q=0`, false],
  [`${OPEN};version=1.0.0;q=0.0, */*`, false],
  ["text/plain", false],
  ["*/*", false],
  [undefined, false],
])("to a scraper that accepts %j OpenMetrics is given: %j", (accept, expected) => {
  const { text, contentType } = negotiatedMetrics(
    "# HELP x_total X.\n# TYPE x_total counter\n\nx_total 1\n",
    accept,
  );
  expect(contentType.startsWith(OPEN)).toBe(expected);
  expect(text.endsWith("# EOF\n")).toBe(expected);
});

test("in OpenMetrics the family of a counter has no suffix, and there is no empty line", () => {
  const text = [
    "# HELP x_total X.",
    "# TYPE x_total counter",
    'x_total{a="# TYPE y_total counter"} 1',
    "",
    "# HELP g_total_bytes G.",
    "# TYPE g_total_bytes gauge",
    "g_total_bytes 2",
    "",
  ].join("\n");
  const open = negotiatedMetrics(text, OPEN).text;
  expect(open.split("\n")).toEqual([
    "# HELP x X.",
    "# TYPE x counter",
    'x_total{a="# TYPE y_total counter"} 1',
    "# HELP g_total_bytes G.",
    "# TYPE g_total_bytes gauge",
    "g_total_bytes 2",
    "# EOF",
    "",
  ]);
  expect(fromOpenMetrics(open).trim()).toBe(text.split("\n").filter(Boolean).join("\n"));
});

test("each bucket has its last traced observation as exemplar, in OpenMetrics alone", () => {
  const metric = timed();
  metric.add("x", "y", 'z # {trace_id="', 0.5, TRACE);
  metric.add("x", "y", 'z # {trace_id="', 0.25, OTHER);
  metric.add("x", "y", 'z # {trace_id="', 0.75);
  metric.add("x", "y", 'z # {trace_id="', 11, TRACE);
  const exemplars = negotiatedMetrics(metric.text, OPEN)
    .text.split("\n")
    .flatMap((line) => /le="(.*?)".* # \{trace_id="(.{32})"\} (\S+) (\S+)$/.exec(line)?.slice(1) ?? []);
  expect(exemplars).toEqual([
    ...["1", OTHER, "0.25", expect.stringMatching(/^\d{10}(\.\d+)?$/)],
    ...["+Inf", TRACE, "11", expect.any(String)],
  ]);
  const untraced = timed();
  for (const value of [0.5, 0.25, 0.75, 11]) untraced.add("x", "y", 'z # {trace_id="', value);
  expect(negotiatedMetrics(metric.text, undefined).text).toBe(untraced.text);
});

test("a call that is not traced leaves no exemplar", () => {
  const metrics = new CallMetrics();
  metrics.callFinished(
    { method: "tools/call", server: "s", tool: "t", seconds: 1, traceId: undefined },
    "ok",
  );
  expect(metrics.text).not.toContain("trace_id");
});

testOf("tracing")("a scrape of a gateway has the traces of its calls, at both ends", async () => {
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  const { fetch: call, adminUrl } = await openGateway(
    { s: { tools: [{ name: "say", inputSchema: { type: "object" } }] } },
    { telemetry: { otlp: { endpoint: collector.endpoint } } },
  );
  const meta = { traceparent: `00-${TRACE}-b7ad6b7169203331-01` };
  const { body, headers } = modernRequest("tools/call", { name: "s__say", arguments: {} }, { meta });
  await (await call("", { method: "POST", body, headers: { ...headers } })).text();
  const scraped = await fetch(`${adminUrl}/metrics`, { headers: { accept: PROMETHEUS } });
  expect(scraped.headers.get("content-type")).toBe(`${OPEN}; version=1.0.0; charset=utf-8`);
  const lines = (await scraped.text()).split("\n").filter((line) => line.includes(TRACE));
  const families = lines.map((line) => line.slice(0, line.indexOf("_bucket")));
  expect(new Set(families)).toEqual(
    new Set([
      "cardea_request_duration_seconds",
      "mcp_server_operation_duration_seconds",
      "mcp_client_operation_duration_seconds",
    ]),
  );
  const plain = await fetch(`${adminUrl}/metrics`);
  expect(plain.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(await plain.text()).not.toContain("trace_id");
});
