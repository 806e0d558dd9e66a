/** docs/observability.md and the pages that it leads to name everything that the gateway says of itself, and nothing else. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CHAIN_START, sealLine } from "../../src/audit/line.js";
import type { AuditEvent } from "../../src/core/audit.js";
import { callNotes } from "../../src/core/call-record.js";
import { GatewayError, refusalReply } from "../../src/core/errors.js";
import { SILENT } from "../../src/core/logger.js";
import { accessLog } from "../../src/telemetry/finished-calls.js";
import { GAUGES, type GaugeLabels } from "../../src/telemetry/gauges.js";
import { Metrics } from "../../src/telemetry/metrics.js";
import { inRepository } from "../support/cardea.js";
import { fakeCall } from "../support/fake-call.js";

const page = (name: string): string => readFileSync(inRepository(`docs/${name}.md`), "utf8");
/** The words in code of the first column of a section's tables. */
function firstColumn(text: string, heading: string): readonly string[] {
  const from = text.indexOf(`\n## ${heading}\n`);
  const section = text.slice(from + 4).split(/\n## /, 1)[0] ?? "";
  return section
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word));
}

test("each metric of a scrape is in the table, with its labels, and no other is", async () => {
  const metrics = new Metrics({ version: "1.2.3", process: false });
  for (const what of Object.keys(GAUGES) as (keyof GaugeLabels)[]) metrics.gauge(what, {} as never, () => 1);
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

test("each field of an audit line is in its table, and no other is", () => {
  const event: Required<AuditEvent> = {
    ...{ kind: "call", at: "2026-01-01T00:00:00.000Z", principal: "a", host: "b", method: "c", target: "d" },
    ...{
      server: "e",
      decision: "f",
      rule: "g",
      outcome: "h",
      argumentsDigest: "i",
      arguments: {},
      traceId: "j",
    },
    ms: { total: 1, queue: 0, policy: 0, upstream: 0, input: 0 },
  };
  const written = JSON.parse(sealLine(event, CHAIN_START, () => new Date(0)).text) as object;
  const fields = firstColumn(page("audit").split("| `kind` | |", 1)[0] ?? "", "Lines");
  expect([...fields].sort()).toEqual(Object.keys(written).sort());
});

test("each attribute of a span is in its table", () => {
  const sources = readdirSync(inRepository("src/tracing")).map((name) =>
    readFileSync(inRepository(`src/tracing/${name}`), "utf8"),
  );
  const used = sources.flatMap((text) =>
    [...text.matchAll(/"((?:mcp|gen_ai|rpc|network|server|jsonrpc|cardea|error)\.[a-z_.]+)"/g)].map(
      ([, name = ""]) => name,
    ),
  );
  expect(used.length).toBeGreaterThan(10);
  const named = firstColumn(page("traces"), "Spans");
  expect([...new Set(used)].filter((name) => !named.includes(name))).toEqual([]);
});
