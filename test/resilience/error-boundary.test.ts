import { describe, expect, test } from "vitest";
import type { Call, Reply } from "../../src/core/call.js";
import {
  ERRORS,
  type ErrorCode,
  GatewayError,
  type GatewayErrorOptions,
  unknownTarget,
} from "../../src/core/errors.js";
import { type LogFields, SILENT } from "../../src/core/logger.js";
import { errorBoundary } from "../../src/resilience/error-boundary.js";
import { fakeCall, textResult, unroutedCall } from "../support/fake-call.js";

const rescued = (call: Call, thrown: unknown): Promise<Reply> =>
  errorBoundary(SILENT)(() => Promise.reject(thrown))(call);

const refusal = (code: ErrorCode, options: GatewayErrorOptions = {}) =>
  new GatewayError(code, "gateway", "this was refused", options);

const object = (reply: Reply) => (reply.kind === "result" ? reply.result.object : undefined);

describe("a tool call refused after it was routed", () => {
  test("gets a result that a model can read, with the facts beside it", async () => {
    const error = refusal("rate_limited", { rule: "slow-down", retryable: true, retryAfterMs: 2500.4 });
    const reply = await rescued(fakeCall(), error);
    expect(reply).toMatchObject({ kind: "result", refusal: "rate_limited" });
    expect(object(reply)).toEqual({
      content: [{ type: "text", text: "this was refused. Retry in 3 s." }],
      isError: true,
      _meta: {
        "cardea/refusal": {
          code: "rate_limited",
          rule: "slow-down",
          server: "files",
          retryable: true,
          retryAfterMs: 2501,
        },
      },
    });
  });

  test.each<[ErrorCode, GatewayErrorOptions, string]>([
    ["denied", {}, "A retry will not help."],
    ["upstream_unavailable", { retryable: true }, "A retry may help."],
    ["queue_full", { retryable: true, retryAfterMs: 1 }, "Retry in 1 s."],
    ["upstream_closed", { retryable: true }, "It may have run: check before trying again."],
    ["timed_out", {}, "It may have run: check before trying again."],
    ["timed_out", { retryable: true }, "A retry may help."],
    ["outcome_unknown", {}, "It may have run: check before trying again."],
    ["upstream_unavailable", { answered: false }, "It may have run: check before trying again."],
    ["upstream_unavailable", { answered: false, retryable: true }, "A retry may help."],
  ])("%s says whether a retry can help (%j)", async (code, options, advice) => {
    const content = object(await rescued(fakeCall(), refusal(code, options)))?.content;
    expect(content).toEqual([{ type: "text", text: `this was refused. ${advice}` }]);
  });
});

describe("a call that the server may have run", () => {
  const toolWith = (item: object) =>
    fakeCall({
      route: { upstream: "files", target: "read", exposed: "files__read", kind: "tools", item: { ...item } },
    });

  test.each<[ErrorCode, GatewayErrorOptions]>([
    ["upstream_closed", { retryable: true }],
    ["upstream_unavailable", { answered: false }],
  ])("is retryable only if a second run does no harm (%s)", async (code, options) => {
    const resultFor = async (item: object) => object(await rescued(toolWith(item), refusal(code, options)));
    expect(await resultFor({})).toMatchObject({
      content: [{ text: "this was refused. It may have run: check before trying again." }],
      _meta: { "cardea/refusal": { retryable: false } },
    });
    expect(await resultFor({ annotations: { readOnlyHint: true } })).toMatchObject({
      content: [{ text: "this was refused. A retry may help." }],
      _meta: { "cardea/refusal": { retryable: true } },
    });
  });
});

describe("everything else gets a JSON-RPC error", () => {
  test.each(Object.keys(ERRORS) as ErrorCode[])("%s has the code of the table and its data", async (code) => {
    const call = unroutedCall("resources/read", { uri: "x:y" });
    const reply = await rescued(call, refusal(code, { server: "files" }));
    expect(reply).toEqual({
      kind: "error",
      error: {
        code: ERRORS[code].rpc,
        message: "this was refused",
        data: { cardea: { code, server: "files", retryable: false } },
      },
      refusal: code,
    });
  });

  test("also a tool call that was never routed", async () => {
    const reply = await rescued(unroutedCall("tools/call", { name: "x" }), refusal("overloaded"));
    expect(reply).toMatchObject({ kind: "error", error: { code: -31503 } });
  });

  test("a tool that is hidden and a tool that does not exist get the same answer", async () => {
    const error = unknownTarget("tools", "files__read");
    const hidden = await rescued(fakeCall(), error);
    const missing = await rescued(unroutedCall("tools/call", { name: "files__read" }), error);
    expect(hidden).toEqual(missing);
    expect(hidden).toEqual({
      kind: "error",
      error: {
        code: -32602,
        message: "unknown tool: files__read",
        data: { cardea: { code: "unknown_target", retryable: false } },
      },
      refusal: "unknown_target",
    });
  });

  test("a missing resource names its URI where clients look for it", async () => {
    const reply = await rescued(unroutedCall("resources/read"), unknownTarget("resources", "files+a:b"));
    expect(reply).toMatchObject({ error: { code: -32602, data: { uri: "files+a:b" } } });
  });

  test("an exact JSON-RPC code is kept, for tools too", async () => {
    const reply = await rescued(
      fakeCall(),
      refusal("bad_request", { rpc: -32021, data: { required: ["x"] } }),
    );
    expect(reply).toMatchObject({ kind: "error", error: { code: -32021, data: { required: ["x"] } } });
  });
});

describe("what is no refusal", () => {
  test("gives the client an id only, and the log the whole error", async () => {
    const errors: LogFields[] = [];
    const logger = { ...SILENT, error: (fields: LogFields) => void errors.push(fields) };
    const thrown = new TypeError("cannot read token sk-123 of undefined");
    const call = fakeCall();
    const reply = await errorBoundary(logger)(() => Promise.reject(thrown))(call);
    expect(reply).toEqual({
      kind: "error",
      error: {
        code: -32603,
        message: `internal error; see the gateway's log for call ${call.id}`,
        data: { cardea: { code: "outcome_unknown", retryable: false } },
      },
      refusal: "outcome_unknown",
    });
    expect(errors).toEqual([{ call: call.id, method: "tools/call", error: thrown }]);
  });

  test("is a cancel where the client had aborted already", async () => {
    const signal = AbortSignal.abort();
    const reply = await rescued(fakeCall({ signal }), signal.reason);
    expect(reply).toMatchObject({ refusal: "cancelled" });
  });

  test("a layer that throws before it returns a promise is caught as well", async () => {
    const reply = await errorBoundary(SILENT)(() => {
      throw refusal("denied");
    })(fakeCall());
    expect(reply).toMatchObject({ refusal: "denied" });
  });
});

test("a reply goes through untouched", async () => {
  const reply = textResult("hello");
  expect(await errorBoundary(SILENT)(async () => reply)(fakeCall())).toBe(reply);
});
