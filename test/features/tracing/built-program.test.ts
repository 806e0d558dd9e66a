/** The built program exports the spans of its calls, to the last one when it ends, and says what is wrong at its start. */

import "../admin/needed.js";
import { expect, type TestContext, test } from "vitest";
import { MAIN, startServing, writeConfig } from "../../support/cardea.js";
import { type Collector, startCollector } from "../../support/collector.js";
import { hasFeature } from "../../support/features.js";
import { startFixture } from "../../support/fixture.js";
import { openLegacy, openModern } from "../../support/peers/raw.js";
import { start } from "../../support/processes.js";
import { sample } from "../../support/sample.js";

/** Nothing is exported but at the end. */
const NEVER = { OTEL_BSP_SCHEDULE_DELAY: "999999" };

/** What is opened ends with the test that opened it; the tests run at the same time. */
type Ending = Pick<TestContext, "onTestFinished">;

async function fixtureConfig({ onTestFinished }: Ending, more: object = {}) {
  const server = await startFixture("legacy", "http");
  const config = writeConfig({ mcpServers: { old: server.entry }, ...more });
  onTestFinished(async () => {
    await server.stop();
    await config.remove();
  });
  return config.file;
}

async function collecting({ onTestFinished }: Ending): Promise<Collector> {
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  return collector;
}

test
  .skipIf(!hasFeature("workers"))
  .concurrent(
    "two workers export their own spans, and those that wait when the gateway is stopped",
    async (context) => {
      const collector = await collecting(context);
      const file = await fixtureConfig(context, { telemetry: { otlp: { endpoint: collector.endpoint } } });
      const ports = ["--port", "0", "--admin-port", "0", "--workers", "2"];
      const gateway = await startServing(["serve", "--config", file, ...ports], async () => {}, {
        env: { ...process.env, ...NEVER },
      });
      const hosts = await Promise.all(
        Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? openLegacy : openModern)({ url: gateway.url })),
      );
      await Promise.all(hosts.map((host) => host.request("tools/list", {})));
      await Promise.all(hosts.map((host) => host.close()));
      expect(collector.requests).toBe(0);
      expect((await gateway.stop()).code).toBe(0);
      const instances = new Map(
        collector.spans.map(({ resource }) => [resource["cardea.worker"], resource["service.instance.id"]]),
      );
      expect(collector.spans.filter(({ name }) => name === "tools/list")).toHaveLength(8);
      expect(new Set(instances.values()).size).toBe(instances.size);
      for (const worker of instances.keys()) expect([1, 2]).toContain(worker);
    },
  );

test.concurrent("a command that calls a tool exports its spans before it ends", async (context) => {
  const collector = await collecting(context);
  const file = await fixtureConfig(context);
  const env = { ...process.env, ...NEVER, OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
  const called = start(process.execPath, [MAIN, "list", "--config", file], { env });
  expect((await called.exited).code).toBe(0);
  expect(collector.spans).toEqual([]);
  const call = start(process.execPath, [MAIN, "call", "echo", "text=x", "--config", file], { env });
  await call.exited;
  expect(collector.spans.map(({ kind }) => kind)).toContain("server");
});

/** Makes Node find none of the packages, as after `npm install --omit=optional`. */
const WITHOUT_PACKAGES = `data:text/javascript,${encodeURIComponent(`
  import { register } from "node:module";
  register("data:text/javascript," + encodeURIComponent(
    'export async function resolve(name, context, next) { if (name.startsWith("@opentelemetry/")) throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" }); return next(name, context); }'
  ));
`)}`;

test.concurrent("without the packages a gateway that is to trace does not start, and says what to install", async (context) => {
  const file = await fixtureConfig(context, { telemetry: { otlp: {} } });
  const args = [
    "--import",
    WITHOUT_PACKAGES,
    MAIN,
    "serve",
    "--config",
    file,
    "--port",
    "0",
    "--admin-port",
    "0",
  ];
  const gateway = start(process.execPath, args);
  expect((await gateway.exited).code).toBe(2);
  expect(gateway.stderr()).toContain("the packages @opentelemetry/* are not installed");
  expect(gateway.stderr()).not.toContain("    at ");
});

test.concurrent("without the packages a gateway that does not trace starts", async (context) => {
  const file = await fixtureConfig(context);
  const args = ["--import", WITHOUT_PACKAGES, MAIN, "list", "--config", file];
  expect((await start(process.execPath, args).exited).code).toBe(0);
});

const COUNTS: readonly (readonly [string, readonly string[]])[] = [
  ["1", []],
  ...(hasFeature("workers") ? [["2", ["--workers", "2"]] as const] : []),
];

test.concurrent.for(sample("refused variables", COUNTS, 1))(
  "variables that lead nowhere are refused at the start, with %s workers",
  async ([, flags], context) => {
    const file = await fixtureConfig(context);
    const env = {
      ...process.env,
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4317",
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    };
    const args = [MAIN, "serve", "--config", file, "--port", "0", "--admin-port", "0", ...flags];
    const gateway = start(process.execPath, args, { env });
    expect((await gateway.exited).code).toBe(2);
    expect(gateway.stderr()).toMatch(
      /^error: OTEL_EXPORTER_OTLP_PROTOCOL is grpc, .*OTEL_TRACES_EXPORTER=none$/m,
    );
  },
);
