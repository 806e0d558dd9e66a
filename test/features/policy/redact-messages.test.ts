/** Redaction in arguments, results, errors, questions and notifications of calls. */
import { describe, expect, test } from "vitest";
import type { Notice, Reply } from "../../../src/core/call.js";
import type { RuleConfig } from "../../../src/features/policy/config.js";
import { RESULT_TEXT } from "../../../src/wire/envelope.js";
import { Payload } from "../../../src/wire/payload.js";
import { result, toolCall } from "../../support/calls.js";
import { elicitation, object, questions } from "./replies.js";
import { policyOf } from "./support.js";

describe("redaction", () => {
  const nothing = { paths: [], patterns: [] };
  const redact = (given: Partial<NonNullable<RuleConfig["redact"]>>) =>
    ({
      effect: "redact",
      redact: { arguments: nothing, results: nothing, replacement: "[redacted]", ...given },
    }) as const;

  test("takes out of arguments what the rule names, and leaves the rest and the original alone", async () => {
    const { handle, calls } = policyOf({
      rules: [
        redact({ arguments: { paths: ["user.password", "keys.*.value"], patterns: ["sk-[a-z0-9]+"] } }),
      ],
    });
    const args = {
      user: { name: "ann", password: "hunter2" },
      keys: [{ value: 1, id: "a" }, { value: { deep: true } }],
      note: "use sk-abc123 and sk-def456, $& $1",
    };
    const before = structuredClone(args);
    await handle(toolCall("db", "query", args));
    expect(calls[0]?.params.arguments).toEqual({
      user: { name: "ann", password: "[redacted]" },
      keys: [{ value: "[redacted]", id: "a" }, { value: "[redacted]" }],
      note: "use [redacted] and [redacted], $& $1",
    });
    expect(args).toEqual(before);
  });

  test("takes out of questions, answers and notices outside of calls", async () => {
    const { policy } = policyOf({
      rules: [
        redact({
          arguments: { paths: [], patterns: ["pw-\\d+"] },
          results: { paths: [], patterns: ["sk-[a-z0-9]+"] },
        }),
        { ...redact({ results: { paths: [], patterns: ["nothing of this server"] } }), servers: ["other"] },
      ],
    });
    const { client } = toolCall("db", "query");
    const redaction = policy.redactionOutsideCalls(client, "db");
    expect(await redaction?.question(elicitation("is it sk-abc?"))).toEqual(elicitation("is it [redacted]?"));
    expect(await redaction?.answer({ action: "accept", content: { it: "pw-123" } })).toEqual({
      action: "accept",
      content: { it: "[redacted]" },
    });
    const status = { taskId: "sk-task", status: "working", statusMessage: "with sk-abc" };
    expect(redaction?.notice({ method: "notifications/tasks/status", params: status })).toEqual({
      method: "notifications/tasks/status",
      params: { ...status, statusMessage: "with [redacted]" },
    });
    expect(policyOf({ rules: [] }).policy.redactionOutsideCalls(client, "db")).toBeUndefined();
  });

  test("takes out of results, errors, questions and notices", async () => {
    const secret = "key sk-abc123 end";
    const clean = "key [redacted] end";
    const notices: Notice[] = [];
    const replies: Reply[] = [
      result({
        content: [
          { type: "text", text: secret },
          { type: "image", data: "sk-abc123", mimeType: "image/png" },
        ],
        structuredContent: { deep: [secret] },
      }),
      { kind: "error", error: { code: -32000, message: secret, data: { detail: [secret], row: 7 } } },
      questions({ a: elicitation(secret) }),
    ];
    const { handle } = policyOf(
      { rules: [redact({ results: { paths: [], patterns: ["sk-[a-z0-9]+"] } })] },
      async (call) => {
        call.notify({ method: "notifications/message", params: { level: "info", data: secret } });
        call.notify({ method: "notifications/progress" });
        return replies.shift() as Reply;
      },
    );
    const call = toolCall("db", "query", {}, { notify: (notice) => void notices.push(notice) });
    expect(object(await handle(call))).toEqual({
      content: [
        { type: "text", text: clean },
        { type: "image", data: "sk-abc123", mimeType: "image/png" },
      ],
      structuredContent: { deep: [clean] },
    });
    expect(await handle(call)).toEqual({
      kind: "error",
      error: { code: -32000, message: clean, data: { detail: [clean], row: 7 } },
    });
    expect(await handle(call)).toMatchObject({ requests: { a: { params: { message: clean } } } });
    expect(notices[0]).toEqual({ method: "notifications/message", params: { level: "info", data: clean } });
    expect(notices[1]).toEqual({ method: "notifications/progress" });
  });

  test("carries on untouched what has nothing in it", async () => {
    const reply = result({ content: [{ type: "text", text: "fine" }] });
    const { handle, calls } = policyOf(
      { rules: [redact({ results: { paths: ["a.b"], patterns: ["x{9}"] } })] },
      async () => reply,
    );
    const call = toolCall("db", "query", { a: 1 });
    expect(await handle(call)).toEqual(reply);
    expect(calls[0]?.params).toEqual(call.params);
    expect(calls[0]?.params.arguments).toBe(call.params.arguments);
  });

  test("covers what a text says twice, of which only the last is parsed", async () => {
    const text = '{"a":"secret","a":"plain"}';
    const message = { jsonrpc: "2.0", id: 1, result: JSON.parse(text), [RESULT_TEXT]: text } as const;
    const { handle } = policyOf(
      { rules: [redact({ results: { paths: [], patterns: ["secret"] } })] },
      async () => ({
        kind: "result",
        result: Payload.ofResponse(message),
      }),
    );
    expect(await handle(toolCall("db", "query"))).toMatchObject({ result: { text: '{"a":"plain"}' } });
  });

  test("holds back a text that is too long to be scanned", async () => {
    const long = "a".repeat(300_000);
    const { handle } = policyOf(
      { rules: [redact({ results: { paths: [], patterns: ["(a+)+b"] } })] },
      async () => result({ content: [{ type: "text", text: long }] }),
    );
    expect(object(await handle(toolCall("db", "query")))).toEqual({
      content: [{ type: "text", text: "[redacted]" }],
    });
  });
});
