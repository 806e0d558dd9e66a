/** What becomes of spans when the collector is not there, refuses them, or the gateway stops. */
import { expect, onTestFinished, test } from "vitest";
import { callNotes } from "../../../src/core/call-record.js";
import type { Logger } from "../../../src/core/logger.js";
import { openTracing } from "../../../src/features/tracing/open-tracing.js";
import type { Tracing } from "../../../src/features/tracing/types.js";
import { startCollector } from "../../support/collector.js";
import { fakeCall, textResult } from "../../support/fake-call.js";
import { until } from "../../support/until.js";

/** Tracing with a log that is kept. */
async function tracing(endpoint: string, env: Readonly<Record<string, string>> = {}, headers = {}) {
  const log: string[] = [];
  const note =
    (level: string): Logger["info"] =>
    (_fields, sentence) =>
      log.push(`${level}: ${sentence}`);
  const logger = { error: note("error"), warn: note("warn"), info: note("info"), debug: note("debug") };
  const opened = await openTracing(
    { url: `${endpoint}/v1/traces`, headers },
    {
      ...{ logger, redact: (text: string) => text, version: "1" },
      env: { OTEL_BSP_SCHEDULE_DELAY: "5", ...env },
    },
  );
  if (opened === undefined) throw new Error("calls are not traced");
  onTestFinished(() => opened.close(0));
  return { traced: opened, log };
}

/** Starts and ends this number of calls. */
function callsOf({ calls }: Tracing, count: number): void {
  for (let at = 0; at < count; at += 1) {
    const call = fakeCall({ record: callNotes() });
    calls.onStart?.(call);
    calls.onEnd(call, textResult("done"), 1);
  }
}

/** Of the process, as the exporter reads them; until the test ends. */
function setVariables(variables: Readonly<Record<string, string>>): void {
  Object.assign(process.env, variables);
  onTestFinished(() => {
    for (const name of Object.keys(variables)) delete process.env[name];
  });
}

test("a collector that is killed costs one warning, and the lost spans are counted", async () => {
  setVariables({ OTEL_EXPORTER_OTLP_TIMEOUT: "50" });
  const first = await startCollector();
  const { traced, log } = await tracing(first.endpoint);
  callsOf(traced, 3);
  await first.received(3);
  await first.stop();
  callsOf(traced, 4);
  await until("the loss", () => traced.lost.export_failed === 4);
  callsOf(traced, 5);
  await until("the loss", () => traced.lost.export_failed === 9);
  const destination = `${first.endpoint}/v1/traces`;
  const warning = `warn: traces do not reach ${destination}; calls continue, and their spans are dropped`;
  expect(log).toEqual([warning]);
  const second = await startCollector(Number(new URL(first.endpoint).port));
  onTestFinished(() => second.stop());
  callsOf(traced, 1);
  await second.received(1);
  await until("the line", () => log.length === 2);
  expect(log).toEqual([warning, `info: traces reach ${destination} again`]);
});

test("spans that the collector refuses are counted as lost", async () => {
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  const { traced } = await tracing(collector.endpoint);
  collector.status = 400;
  callsOf(traced, 4);
  await until("the loss", () => traced.lost.export_failed === 4);
  expect(collector.requests).toBe(1);
});

test("the queue of spans is bounded while a collector does not respond", async () => {
  const collector = await startCollector();
  collector.status = 503;
  onTestFinished(() => collector.stop());
  const { traced, log } = await tracing(collector.endpoint);
  callsOf(traced, 20_000);
  // Of 13 batches of 768 four are under way.
  expect(traced.lost.queue_full).toBe(20_000 - 13 * 768);
  expect(log).toHaveLength(1);
  await traced.close(0);
  expect(traced.lost.queue_full + traced.lost.export_failed).toBeGreaterThanOrEqual(20_000 - 4 * 768);
});

test("at a stop pending spans are exported, and a hanging collector does not delay it", async () => {
  const collector = await startCollector();
  const { traced } = await tracing(collector.endpoint, { OTEL_BSP_SCHEDULE_DELAY: "100000" });
  callsOf(traced, 1_000);
  await traced.close(10_000);
  expect([collector.spans.length, traced.lost.export_failed]).toEqual([1_000, 0]);
  await collector.stop();
  const hanging = await tracing(collector.endpoint, { OTEL_BSP_SCHEDULE_DELAY: "100000" });
  callsOf(hanging.traced, 5_000);
  await hanging.traced.close(1);
  expect(hanging.traced.lost.export_failed).toBeGreaterThan(0);
});

test("an export carries the headers of the config and the resource of the variables", async () => {
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  setVariables({
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test,team=a%20b",
    OTEL_SERVICE_NAME: "edge",
  });
  const { traced } = await tracing(collector.endpoint, {}, { authorization: "Bearer abc" });
  callsOf(traced, 1);
  const [span] = await collector.received(1);
  expect(collector.headers.authorization).toBe("Bearer abc");
  expect(span?.resource).toMatchObject({
    "service.name": "edge",
    "service.version": "1",
    "deployment.environment.name": "test",
    team: "a b",
  });
});

test("a server that moved in a reload has its new address in spans", async () => {
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  const { traced } = await tracing(collector.endpoint);
  for (const url of ["http://one.example:81/mcp", "https://two.example/mcp", "https://two.example/mcp"]) {
    const call = fakeCall({ record: callNotes() });
    traced.calls.onStart?.(call);
    await traced.servedBy({ name: "files", url, features: {}, credentialsOf: undefined, secrets: () => [] })(
      async () => textResult("done"),
    )(call);
  }
  const spans = await collector.received(3);
  expect(spans.map(({ attributes }) => [attributes["server.address"], attributes["server.port"]])).toEqual([
    ["one.example", 81],
    ["two.example", 443],
    ["two.example", 443],
  ]);
});
