/** docs/observability.md and the pages that it leads to name everything that the gateway says of itself, and nothing else. */
import { expect, test } from "vitest";
import { callNotes } from "../../src/core/call-record.js";
import { GatewayError, refusalReply } from "../../src/core/errors.js";
import { SILENT } from "../../src/core/logger.js";
import { accessLog } from "../../src/telemetry/finished-calls.js";
import { GAUGES, type GaugeLabels } from "../../src/telemetry/gauges.js";
import { Metrics } from "../../src/telemetry/metrics.js";
import { firstColumn, docsPage as page } from "../support/docs-pages.js";
import { fakeCall } from "../support/fake-call.js";
import { addFeatureMetrics } from "../support/features.js";

test("each metric of a scrape is in the table, with its labels, and no other is", async () => {
  const metrics = new Metrics({ version: "1.2.3", process: false });
  for (const what of Object.keys(GAUGES) as (keyof GaugeLabels)[]) metrics.gauge(what, {} as never, () => 1);
  addFeatureMetrics(metrics);
  const scraped = [...(await metrics.text()).matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name);
  const named = firstColumn(page("observability"), "Metrics").filter((name) => !name.includes("*"));
  expect([...named].sort()).toEqual([...new Set(scraped)].sort());
});

test("each field of a line about a call is in the table, and no other is", () => {
  const lines: object[] = [];
  const log = accessLog({ ...SILENT, info: (fields) => lines.push(fields) });
  const call = fakeCall({ via: "search", record: { ...callNotes(), traceId: "a".repeat(32) } });
  const refusal = new GatewayError("denied", "gateway", "no", { rule: "a-rule" });
  log.onEnd?.(call, refusalReply(refusal, call), 1);
  const named = firstColumn(page("observability"), "Log lines");
  expect([...named].sort()).toEqual(Object.keys(lines[0] ?? {}).sort());
});
