/** Calls that rules allow, deny or hide, and the record of each decision. */
import { describe, expect, test } from "vitest";
import { compose } from "../../../src/core/call.js";
import { SILENT } from "../../../src/core/logger.js";
import { createPolicy } from "../../../src/features/policy/policy.js";
import { errorBoundary } from "../../../src/resilience/error-boundary.js";
import { createLogger } from "../../../src/telemetry/logger.js";
import { Metrics } from "../../../src/telemetry/metrics.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { result, toolCall, wordOf } from "../../support/calls.js";
import { unroutedCall } from "../../support/fake-call.js";
import { again, asksPeople, elicitation, inTurn, object, questions } from "./replies.js";
import { countedBy, policyOf, rule } from "./support.js";

describe("a call", () => {
  test("that no rule is about goes through untouched", async () => {
    const { handle, calls } = policyOf({ rules: [{ tools: ["db__*"], effect: "deny" }] });
    const call = toolCall("files", "read", { path: "a" });
    expect(wordOf(await handle(call))).toBe("result");
    expect(calls[0]?.params).toEqual(call.params);
    expect(calls[0]?.params.arguments).toBe(call.params.arguments);
  });

  test("that is denied never reaches its server, and gets the message of the rule", async () => {
    const { handle, calls } = policyOf({
      rules: [
        {
          name: "no-prod",
          when: "args.env == 'prod'",
          effect: "deny",
          message: "production is read-only here",
        },
      ],
    });
    const reply = await handle(toolCall("db", "drop", { env: "prod" }));
    expect(object(reply)).toEqual({
      content: [{ type: "text", text: "production is read-only here. A retry will not help." }],
      isError: true,
      _meta: { "cardea/refusal": { code: "denied", rule: "no-prod", server: "db", retryable: false } },
    });
    expect(calls).toEqual([]);
    expect(wordOf(await handle(toolCall("db", "drop", { env: "test" })))).toBe("result");
  });

  test("is denied where nothing allows it and the default is to deny", async () => {
    const { handle } = policyOf({ default: "deny", rules: [{ tools: ["files__*"], effect: "allow" }] });
    expect(wordOf(await handle(toolCall("files", "read")))).toBe("result");
    expect(wordOf(await handle(toolCall("db", "drop")))).toBe("denied");
  });

  test("of something hidden gets the answer of something that does not exist", async () => {
    const { handle } = policyOf({ rules: [{ tools: ["db__*"], effect: "hide" }] });
    expect(await handle(toolCall("db", "drop"))).toEqual({
      kind: "error",
      error: {
        code: -32602,
        message: expect.stringMatching(/^unknown tool: db__drop(;|$)/),
        data: { cardea: { code: "unknown_target", retryable: false } },
      },
      refusal: "unknown_target",
    });
  });

  test("without a target is decided by no rule", async () => {
    const { handle } = policyOf({ default: "deny" });
    expect(wordOf(await handle(unroutedCall("tools/list")))).toBe("result");
  });

  test("reaches its server with exactly the evaluated arguments", async () => {
    const { handle, calls } = policyOf({
      rules: [{ when: "args.env != 'prod'", effect: "allow" }, { effect: "deny" }],
    });
    const args: JsonObject = JSON.parse(
      '{"env":"test","Env":"prod","__proto__":{"env":"prod"},"ENV\\u0000":1}',
    );
    await handle(toolCall("db", "drop", args));
    expect(calls[0]?.params.arguments).toBe(args);
  });
});

describe("what was decided", () => {
  test("is counted by rule and kept for a while, the newest first, without arguments", async () => {
    const { handle, policy, metrics } = policyOf({
      rules: [
        { name: "no-prod", when: "args.env == 'prod'", effect: "deny" },
        { name: "broken", when: "args.env > 1", effect: "deny" },
        { name: "rest", effect: "allow" },
      ],
    });
    await handle(toolCall("db", "drop", { env: "prod" }));
    await handle(toolCall("db", "drop", { env: "test" }));
    await handle(toolCall("db", "drop", {}));
    expect(policy.decisions()).toMatchObject([
      { effect: "allow", rule: "rest", target: "db__drop", server: "db", principal: "anonymous", on: "call" },
      { effect: "deny", rule: "broken", failed: expect.stringContaining("no matching overload") },
      { effect: "deny", rule: "no-prod" },
    ]);
    expect(policy.decisions(1)).toHaveLength(1);
    expect(JSON.stringify(policy.decisions())).not.toContain('"prod"');
    const text = await metrics.text();
    expect(text).toContain('cardea_policy_decisions_total{decision="deny",rule="no-prod"} 1');
    expect(text).toContain('cardea_policy_decisions_total{decision="allow",rule="rest"} 1');
  });

  test.each([
    ["accept", "approve", "accepted"],
    ["decline", "decline", "declined"],
    ["cancel", "decline", "declined"],
  ])(
    "of a call that a person was asked about is one decision, which says what the answer was: %s",
    async (action, effect, answer) => {
      const asking = { name: "ask", tools: ["*__drop"], effect: "approve" } as const;
      const { handle, policy, metrics } = policyOf(
        { rules: [asking, { on: "elicitation", effect: "allow", maxRounds: 3 }] },
        inTurn(questions({ sure: elicitation("Sure?") }, "server's own")),
      );
      const call = toolCall("db", "drop", {}, { client: asksPeople });
      const counted = async () =>
        (await metrics.text())
          .split("\n")
          .filter((line) => /^cardea_policy_decisions_total.*"ask"/.test(line));
      const asked = await handle(call);
      expect(policy.decisions()).toMatchObject([{ effect: "approve", rule: "ask", target: "db__drop" }]);
      expect(policy.decisions()[0]).not.toHaveProperty("answer");
      expect(await counted()).toEqual([]);
      const next = await handle(again(call, asked, { "cardea/approval": { action } }));
      if (next.kind === "input_required") await handle(again(call, next, { sure: { action: "accept" } }));
      expect(policy.decisions().filter(({ on }) => on === "call")).toMatchObject([
        { effect, rule: "ask", answer },
      ]);
      expect(await counted()).toEqual([`cardea_policy_decisions_total{decision="${effect}",rule="ask"} 1`]);
    },
  );

  test("of a call of a host without elicitation is to deny it", async () => {
    const { handle, policy } = policyOf({ rules: [{ name: "ask", effect: "approve" }] });
    expect(wordOf(await handle(toolCall("db", "drop")))).toBe("denied");
    expect(policy.decisions()).toMatchObject([{ effect: "deny", rule: "ask" }]);
  });

  test("has its time once in the line of the log", async () => {
    const lines: string[] = [];
    const logger = createLogger({
      level: "debug",
      terminal: false,
      write: (line) => lines.push(line),
      env: {},
    });
    const metrics = new Metrics({ version: "1", process: false });
    const rules = [rule({ name: "no", effect: "deny" })];
    const policy = createPolicy(
      { policy: { default: "allow", rules } },
      { metrics: countedBy(metrics), logger },
    );
    await compose([errorBoundary(SILENT), policy.access], async () => result({}))(toolCall("db", "drop"));
    expect(lines).toHaveLength(1);
    expect(lines[0]?.match(/"time":/g)).toHaveLength(1);
  });

  test("is not kept for ever", async () => {
    const { handle, policy } = policyOf({ rules: [{ effect: "deny" }] });
    for (let i = 0; i < 1200; i += 1) await handle(toolCall("db", "drop"));
    expect(policy.decisions()).toHaveLength(1000);
  });
});
