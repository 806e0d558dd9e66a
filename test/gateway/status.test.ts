import { expect, test } from "vitest";
import type { ServerConfig } from "../../src/config/config.js";
import type { ServerRuntime } from "../../src/gateway/server-runtime.js";
import { GatewayStatus } from "../../src/gateway/status.js";
import { CircuitBreaker } from "../../src/resilience/circuit-breaker.js";
import { fakeUpstream } from "../support/fake-upstream.js";

type Server = Pick<ServerRuntime, "config" | "upstream" | "breaker">;

const ALL = { allow: ["*"], deny: [] };
const CONFIG: ServerConfig = {
  name: "",
  transport: { kind: "http", url: "http://127.0.0.1:1/", headers: {}, sse: false },
  prefix: "",
  features: {},
  protocol: "auto",
  lease: "auto",
  start: "eager",
  idleTimeoutMs: 1,
  required: false,
  timeoutMs: 1,
  connectTimeoutMs: 1,
  tools: ALL,
  prompts: ALL,
  resources: ALL,
};
const NEVER_STARTED = {
  hasOpenCalls: false,
  separatesPrincipals: false,
  start: () => undefined,
  setLifetime: () => undefined,
  forwardNotification: () => undefined,
  memory: () => undefined,
};

/** A server with that name: required or not, connected or not, with a number of failed calls. */
function server(
  name: string,
  { required = false, there = true, failures = 0 } = {},
): readonly [string, Server] {
  const upstream = fakeUpstream(name);
  if (!there) upstream.goDown();
  const breaker = new CircuitBreaker();
  for (let at = 0; at < failures; at += 1) breaker.tryAcquire()?.("failure");
  return [
    name,
    { config: { ...CONFIG, name, required }, upstream: Object.assign(upstream, NEVER_STARTED), breaker },
  ];
}

const statusOf = (...servers: readonly (readonly [string, Server])[]) =>
  new GatewayStatus(
    () => new Map(servers),
    (text) => text.replaceAll("s3cret", "…"),
  );

test("the gateway is ready when all required servers are connected", () => {
  const status = statusOf(server("a", { required: true }), server("b", { there: false }));
  expect(status.readiness()).toEqual({ ready: true, reasons: [] });
});

test("the gateway is not ready while a required server is not connected, without the server's last error", () => {
  expect(statusOf(server("a", { required: true, there: false })).readiness()).toEqual({
    ready: false,
    reasons: ["required server a: backoff"],
  });
});

test("the gateway is not ready while it drains", () => {
  const status = statusOf();
  status.isDraining = true;
  expect(status.readiness()).toEqual({ ready: false, reasons: ["the gateway is stopping"] });
});

test("an open circuit breaker and a refused config are listed, redacted, and leave the gateway ready", () => {
  const status = statusOf(server("a", { required: true, failures: 20 }), server("b", { failures: 19 }));
  status.reloadErrors = ["line 1: s3cret"];
  expect(status.readiness()).toEqual({
    ready: true,
    reasons: ["the newest config was refused: line 1: …", "server a failed too often; circuit breaker open"],
  });
});
