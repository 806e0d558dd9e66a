import { expect, test } from "vitest";
import { type Call, compose, observerMiddleware, type Reply } from "../../src/core/call.js";
import { GatewayError } from "../../src/core/errors.js";
import { type LogFields, SILENT } from "../../src/core/logger.js";
import { errorBoundary } from "../../src/resilience/error-boundary.js";
import { accessLog } from "../../src/telemetry/finished-calls.js";
import { fakeCall, rawResult, textResult, unroutedCall } from "../support/fake-call.js";

async function linesOf(call: Call, handler: () => Promise<Reply>, skipsDebug = false) {
  const lines: [string, LogFields][] = [];
  const logger = {
    ...SILENT,
    skipsDebug,
    info: (fields: LogFields) => void lines.push(["info", fields]),
    debug: (fields: LogFields) => void lines.push(["debug", fields]),
  };
  await compose([observerMiddleware([accessLog(logger)]), errorBoundary(SILENT)], handler)(call);
  return lines;
}

test("a successful call writes one debug line with principal, target, outcome and duration, without arguments", async () => {
  const call = fakeCall({ params: { name: "files__read", arguments: { path: "/secret/diary" } } });
  const lines = await linesOf(call, async () => textResult("dear diary"));
  expect(lines).toEqual([
    [
      "debug",
      {
        call: call.id,
        method: "tools/call",
        target: "files__read",
        upstream: "files",
        principal: "anonymous",
        outcome: "ok",
        ms: expect.any(Number),
      },
    ],
  ]);
});

test("without debug lines the others are still written", async () => {
  expect(await linesOf(fakeCall(), async () => textResult("all is well"), true)).toEqual([]);
  const refused = async () => {
    throw new GatewayError("queue_full", "gateway", "busy");
  };
  expect(await linesOf(fakeCall(), refused, true)).toMatchObject([["info", { outcome: "queue_full" }]]);
});

test("a refused call is worth a look", async () => {
  const lines = await linesOf(fakeCall(), async () => {
    throw new GatewayError("queue_full", "gateway", "busy");
  });
  expect(lines).toMatchObject([["info", { outcome: "queue_full" }]]);
});

test("an unknown target is logged as the client sent it, up to a length", async () => {
  const lines = await linesOf(unroutedCall("tools/call", { name: "x".repeat(5000) }), async () => {
    throw new GatewayError("unknown_target", "downstream", "unknown tool");
  });
  expect(lines).toMatchObject([["info", { target: "x".repeat(200), outcome: "unknown_target" }]]);
});

test.each<[string, Reply, string]>([
  ["a tool that says so failed", rawResult('{"content":[],"isError":true}'), "tool_error"],
  ["a blank before the value changes nothing", rawResult('{"isError": true,"content":[]}'), "tool_error"],
  ["a tool that says it did not fail did not", rawResult('{"content":[],"isError":false}'), "ok"],
  ["the words inside a text are no failure", rawResult('{"content":[{"text":"\\"isError\\":true"}]}'), "ok"],
  ["nor deeper down", rawResult('{"structuredContent":{"isError":true}}'), "ok"],
  ["a question is a round", { kind: "input_required", requests: {} }, "input_required"],
  ["a server's own error", { kind: "error", error: { code: -32000, message: "no" } }, "tool_error"],
])("%s", async (_, reply, outcome) => {
  const lines = await linesOf(fakeCall(), async () => reply);
  expect(lines).toMatchObject([[expect.any(String), { outcome }]]);
});

test("a call that a limit refused names the limit", async () => {
  const lines = await linesOf(fakeCall(), async () => {
    throw new GatewayError("rate_limited", "gateway", "too many calls", { rule: "searches" });
  });
  expect(lines).toMatchObject([["info", { outcome: "rate_limited", rule: "searches" }]]);
});
