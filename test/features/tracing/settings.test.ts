/** Whether and how calls are traced, by the config and the variables of OpenTelemetry. */
import { describe, expect, test } from "vitest";
import { type Environment, traceSettings } from "../../../src/features/tracing/settings.js";
import { configOf } from "../../support/gateway.js";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };
const OTLP = { headers: {} };

describe("calls are traced", () => {
  test.each<[string, Environment, boolean]>([
    ["not without a word about it", {}, false],
    ["where a variable names the collector", ENDPOINT, true],
    ["where a variable names it for traces", { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://c/x" }, true],
    ["not where the variable is empty", { OTEL_EXPORTER_OTLP_ENDPOINT: " " }, false],
    ["not where the variables want no exporter", { ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }, false],
    ["where OTLP is one of several exporters", { ...ENDPOINT, OTEL_TRACES_EXPORTER: "console, otlp" }, true],
    ["not where the SDK is disabled", { ...ENDPOINT, OTEL_SDK_DISABLED: "TRUE" }, false],
  ])("%s", (_what, env, expected) => {
    expect(traceSettings(undefined, env) !== undefined).toBe(expected);
  });

  test("if configured in the file, unless the SDK is disabled", () => {
    expect(traceSettings(OTLP, {})).toMatchObject({ url: undefined });
    expect(traceSettings(OTLP, { OTEL_TRACES_EXPORTER: "none" })).toBeDefined();
    expect(traceSettings(OTLP, { OTEL_SDK_DISABLED: "true" })).toBeUndefined();
  });
});

describe("the sampler", () => {
  test.each<[Environment, object]>([
    [{}, { ratio: 1, followsParent: true }],
    [{ OTEL_TRACES_SAMPLER: "always_off" }, { ratio: 0, followsParent: false }],
    [
      { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" },
      { ratio: 0.25, followsParent: false },
    ],
    [
      { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" },
      { ratio: 0, followsParent: true },
    ],
  ])("of %j is %j", (env, expected) => {
    expect(traceSettings(OTLP, env)?.sampling).toEqual(expected);
  });

  test("of the file overrides that of the variables", () => {
    const env = { OTEL_TRACES_SAMPLER: "always_off" };
    expect(traceSettings({ ...OTLP, sampling: 0.5 }, env)?.sampling).toEqual({
      ratio: 0.5,
      followsParent: true,
    });
  });
});

test.each<[Environment, string]>([
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc", ...ENDPOINT }, "OTEL_EXPORTER_OTLP_PROTOCOL is grpc"],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "127.0.0.1:4318" }, "must be an http or https address"],
  [{ ...ENDPOINT, OTEL_TRACES_SAMPLER: "sometimes" }, "OTEL_TRACES_SAMPLER must be one of always_on"],
  [
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" },
    "OTEL_TRACES_SAMPLER_ARG must be a number",
  ],
  [{ ...ENDPOINT, OTEL_BSP_SCHEDULE_DELAY: "soon" }, "must be a number of milliseconds"],
])("%j is refused: %s", (env, message) => {
  expect(() => traceSettings(undefined, env)).toThrow(message);
});

test.each([
  ["http://c:4318", "http://c:4318/v1/traces"],
  ["http://c:4318/", "http://c:4318/v1/traces"],
  ["https://c/otlp/v1/traces", "https://c/otlp/v1/traces"],
])("the endpoint %s of the file is the URL %s", (endpoint, url) => {
  const { features } = configOf({ telemetry: { otlp: { endpoint } } });
  expect(features["telemetry.otlp"]?.url).toBe(url);
});

test.each([
  [{ otlp: { sampling: 1.5 } }, "sampling"],
  [{ otlp: { endpoint: "localhost:4318" } }, "must be an address"],
  [{ otlp: { url: "http://c" } }, "unknown key"],
  [{ baggage: "keep" }, "baggage"],
])("%j in the file is refused", (telemetry, message) => {
  expect(() => configOf({ telemetry })).toThrow(message);
});
