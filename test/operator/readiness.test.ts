import { expect, test } from "vitest";
import type { ServerConfig } from "../../src/config/config.js";
import type { ServerRuntime } from "../../src/gateway/server-runtime.js";
import { readiness } from "../../src/operator/readiness.js";
import { CircuitBreaker } from "../../src/policy/circuit-breaker.js";
import { fakeUpstream } from "../support/fake-upstream.js";

type Server = Pick<ServerRuntime, "config" | "upstream" | "breaker">;

const ALL = { allow: ["*"], deny: [] };
const CONFIG: ServerConfig = {
  name: "",
  transport: { kind: "http", url: "http://127.0.0.1:1/", headers: {}, sse: false },
  prefix: "",
  protocol: "auto",
  lease: "auto",
  required: false,
  timeoutMs: 1,
  connectTimeoutMs: 1,
  tools: ALL,
  prompts: ALL,
  resources: ALL,
};
const NEVER_STARTED = { start: () => undefined, forwardNotification: () => undefined };

/** A server by its name; whether it is required, whether it is there, and how many of its calls have failed. */
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

const told = (servers: readonly (readonly [string, Server])[], over = {}) =>
  readiness({
    draining: false,
    servers: new Map(servers),
    reloadErrors: [],
    redact: (text) => text.replaceAll("s3cret", "…"),
    ...over,
  });

test("it is ready when all that is required is there", () => {
  expect(told([server("a", { required: true }), server("b", { there: false })])).toEqual({
    ready: true,
    reasons: [],
  });
});

test("it is not while something required is away, or it is stopping", () => {
  expect(told([server("a", { required: true, there: false })])).toEqual({
    ready: false,
    // What the server said last is not for strangers.
    reasons: ["required server a: backoff"],
  });
  expect(told([], { draining: true })).toEqual({ ready: false, reasons: ["the gateway is stopping"] });
});

test("what is only worse than it could be is told, and does not count", () => {
  const reasons = told([server("a", { required: true, failures: 20 }), server("b", { failures: 19 })], {
    reloadErrors: ["line 1: s3cret"],
  });
  expect(reasons).toEqual({
    ready: true,
    reasons: ["the newest config was refused: line 1: …", "server a failed too often; its calls are paused"],
  });
});
