/** What holds in a gateway without a feature that decides about calls: no host is sent to a link that is no web page. */
import { describe, expect, test } from "vitest";
import type { Call, Reply } from "../../src/core/call.js";
import { GatewayError } from "../../src/core/errors.js";
import { onlySafeLinks } from "../../src/resilience/safe-links.js";
import type { JsonObject } from "../../src/wire/json.js";
import { clientOf, result, toolCall } from "../support/calls.js";

const link = (url: string): JsonObject => ({
  method: "elicitation/create",
  params: { mode: "url", message: "Go", url },
});
const form: JsonObject = { method: "elicitation/create", params: { mode: "form", message: "Your name?" } };
const PAGE = link("https://pay.example/1");
const PROGRAM = link("file:///etc/passwd");

const client = clientOf({ capabilities: { elicitation: { form: {}, url: {} } } });
const asks = (requests: JsonObject): Reply => ({ kind: "input_required", requests });

/** A server that asks these questions, then answers; and the calls that it gets. */
function serverThatAsks(...rounds: readonly JsonObject[]) {
  const calls: Call[] = [];
  const handle = onlySafeLinks().access(async (call) => {
    calls.push(call);
    const requests = rounds[calls.length - 1];
    return requests === undefined ? result({ content: [] }) : asks(requests);
  });
  return { calls, handle };
}

const call = toolCall("shop", "pay", {}, { client });

describe("a question in a call", () => {
  test("reaches the host as it is if it is a form or a web page", async () => {
    const { handle } = serverThatAsks({ form, page: PAGE });
    expect(await handle(call)).toMatchObject({ kind: "input_required", requests: { form, page: PAGE } });
  });

  test("is declined for the host if its link is none of the web, and the call continues", async () => {
    const { handle, calls } = serverThatAsks({ bad: PROGRAM });
    expect(await handle(call)).toMatchObject({ kind: "result" });
    expect(calls[1]?.inputResponses?.responses).toEqual({ bad: { action: "decline" } });
  });

  test("is left out beside others, and declined with their answers", async () => {
    const { handle, calls } = serverThatAsks({ bad: PROGRAM, form });
    const reply = await handle(call);
    if (reply.kind !== "input_required") throw new Error(reply.kind);
    expect(reply.requests).toEqual({ form });
    const answer = { action: "accept", content: { name: "Ann" } };
    const { state } = reply;
    await handle({
      ...call,
      inputResponses: { responses: { form: answer }, ...(state !== undefined && { state }) },
    });
    expect(calls[1]?.inputResponses?.responses).toEqual({ form: answer, bad: { action: "decline" } });
  });

  test("ends the call if its server asks again and again", async () => {
    const { handle } = serverThatAsks(...Array.from({ length: 20 }, () => ({ bad: PROGRAM })));
    await expect(handle(call)).rejects.toThrow('"shop" keeps asking for what policy refuses');
  });

  test("in an error that names links refuses the call", async () => {
    const handle = onlySafeLinks().access(async () => ({
      kind: "error",
      error: { code: -32042, message: "visit", data: { elicitations: [PROGRAM.params] } },
    }));
    await expect(handle(call)).rejects.toThrow('"shop" may not open the URL it asks for');
  });
});

test("a question to a session is refused by the same rule", () => {
  const { question } = onlySafeLinks();
  expect(question(client, "shop", [], PAGE)).toEqual(PAGE);
  expect(() => question(client, "shop", [], PROGRAM)).toThrow(GatewayError);
});

test("nothing is hidden, limited or redacted, and explain says that all is allowed", () => {
  const policy = onlySafeLinks();
  const { visible, maySubscribe, timeoutMs } = policy;
  expect({ visible, maySubscribe, timeoutMs }).toEqual({});
  expect(policy.redactionOutsideCalls(client, "shop")).toBeUndefined();
  expect(policy.explain(call, true)).toMatchObject({
    effect: "allow",
    rule: "default",
    rules: [],
    limits: [],
  });
});
