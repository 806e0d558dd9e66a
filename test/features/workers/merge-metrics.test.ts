import { expect, test } from "vitest";
import { MonotonicMetrics, mergeMetrics } from "../../../src/features/workers/merged-metrics.js";
import { LabeledMetric } from "../../../src/telemetry/labeled-metrics.js";
import { Metrics } from "../../../src/telemetry/metrics.js";

const one = (value: number, name = "cardea_requests_total", labels = '{server="a b"}'): string =>
  `# HELP ${name} Words.\n# TYPE ${name} counter\n${name}${labels} ${value}\n`;

test("counters are summed by their labels and printed once", () => {
  expect(mergeMetrics([one(2), one(3), one(1, "cardea_requests_total", '{server="c"}')])).toBe(
    '# HELP cardea_requests_total Words.\n# TYPE cardea_requests_total counter\ncardea_requests_total{server="a b"} 5\ncardea_requests_total{server="c"} 1\n',
  );
});

test("the buckets, sum and count of a histogram are summed", () => {
  const text = `# HELP h Words.\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_bucket{le="+Inf"} 2\nh_sum 1.5\nh_count 2\n`;
  expect(mergeMetrics([text, text])).toContain(
    'h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 4\nh_sum 3\nh_count 4\n',
  );
});

test.each([
  ["cardea_upstream_up", 1, 0, 1],
  ["cardea_upstream_up", 0, 0, 0],
  ["of_a_feature", 1, 1, 1],
  ["of_a_feature", 1, 0, 0],
  ["cardea_config_last_reload_successful", 1, 0, 0],
  ["cardea_circuit_state", 0, 2, 2],
  ["cardea_overload_level", 3, 1, 3],
  ["cardea_orphaned_processes", 2, 2, 2],
  ["cardea_build_info", 1, 1, 1],
  ["cardea_sessions", 4, 3, 7],
  ["process_resident_memory_bytes", 1e8, 2e8, 3e8],
  ["nodejs_eventloop_lag_p99_seconds", 0.5, 0.1, 0.5],
])("the merged %s of %d and %d is %d", (name, a, b, together) => {
  const gauges = [{ name: "of_a_feature", help: "", merge: "min" }] as const;
  expect(mergeMetrics([one(a, name), one(b, name)], gauges)).toContain(`{server="a b"} ${together}\n`);
});

test("a worker without samples of a metric does not change the sum of the others", () => {
  expect(mergeMetrics([one(2), one(1, "cardea_sessions")])).toContain(one(2).trim());
});

test("the metrics of real processes merge into valid Prometheus text", async () => {
  const [first, second] = [new Metrics({ version: "1" }), new Metrics({ version: "1" })];
  for (const metrics of [first, second]) {
    metrics.calls.callFinished({ method: "tools/call", server: "git", tool: "log", seconds: 0.03 }, "ok");
    metrics.gauge("sessions", { era: "legacy" }, () => 2);
  }
  const merged = mergeMetrics([await first.text(), await second.text()]);
  expect(merged).toContain('cardea_requests_total{method="tools/call",server="git",outcome="ok"} 2\n');
  expect(merged).toContain('cardea_sessions{era="legacy"} 4\n');
  for (const line of merged.trimEnd().split("\n")) {
    expect(line).toMatch(
      /^# (HELP|TYPE) \S+ .+$|^[a-z_:][\w:]*(\{.*\})? (-?[\d.]+(e[+-]?\d+)?|NaN|[+-]?Inf)$/i,
    );
  }
  const names = [...merged.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  expect(new Set(names).size).toBe(names.length);
});

const calls = (count: number): string =>
  `# HELP calls_total Words.\n# TYPE calls_total counter\ncalls_total ${count}\n# HELP sessions Words.\n# TYPE sessions gauge\nsessions ${count}\n`;
const valuesOf = (text: string): readonly string[] => text.split("\n").filter((line) => /^[a-z]/.test(line));

test("counters of a dead worker stay in the sum; its gauges do not", () => {
  const metrics = new MonotonicMetrics();
  const second = { worker: 2, pid: 12, text: calls(1) };
  metrics.merged([{ worker: 1, pid: 11, text: calls(5) }, second], []);
  expect(valuesOf(metrics.merged([second], []))).toEqual(["calls_total 6", "sessions 1"]);
  const next = { worker: 1, pid: 13, text: calls(2) };
  expect(valuesOf(metrics.merged([next, second], []))).toEqual(["calls_total 8", "sessions 3"]);
  // And only once, however often it is scraped.
  expect(valuesOf(metrics.merged([next, second], []))).toEqual(["calls_total 8", "sessions 3"]);
});

test("a worker that does not answer counts with its last metrics, so that no counter decreases", () => {
  const metrics = new MonotonicMetrics();
  metrics.merged([{ worker: 1, pid: 11, text: calls(5) }], []);
  const silent = { worker: 1, pid: 11, text: undefined };
  expect(valuesOf(metrics.merged([silent], []))).toEqual(["calls_total 5", "sessions 5"]);
  expect(valuesOf(metrics.merged([{ ...silent, text: calls(7) }], []))).toEqual([
    "calls_total 7",
    "sessions 7",
  ]);
});

test("a worker that never responded is omitted from the sum", () => {
  const metrics = new MonotonicMetrics();
  const told = [{ worker: 1, pid: 11, text: undefined }];
  expect(valuesOf(metrics.merged(told, [calls(2), calls(3)]))).toEqual(["calls_total 5", "sessions 5"]);
});

test("the metrics of several workers keep exemplars", () => {
  const timed = (): LabeledMetric =>
    new LabeledMetric({ name: "time", help: "Some help.", labels: ["a", "b", "c"], buckets: [1, 10] });
  const [TRACE, OTHER] = ["0af7651916cd43dd8448eb211c80319c", "1af7651916cd43dd8448eb211c80319d"];
  const [one, two] = [timed(), timed()];
  one.add("x", "y", "z", 0.5, TRACE);
  two.add("x", "y", "z", 5, OTHER);
  const merged = mergeMetrics([one.text, two.text]);
  expect(merged).toMatch(new RegExp(`le="1",.* 1 # \\{trace_id="${TRACE}"\\} 0.5 `));
  expect(merged).toMatch(new RegExp(`le="10",.* 2 # \\{trace_id="${OTHER}"\\} 5 `));
});
