/** Calls that wait for another person: rounds, ends, bounds, and what approvers see. */
import { describe, expect, test } from "vitest";
import type { Call, Reply } from "../../../../src/core/call.js";
import { callNotes } from "../../../../src/core/call-record.js";
import { SILENT } from "../../../../src/core/logger.js";
import { Stop } from "../../../../src/core/stop.js";
import { createPolicy } from "../../../../src/features/policy/policy.js";
import {
  MAX_OPEN,
  MAX_OPEN_LENGTH,
  MAX_OPEN_OF_PRINCIPAL,
  type OpenApproval,
  OpenApprovals,
} from "../../../../src/features/policy/second-person/open-approvals.js";
import { HOLD_MS } from "../../../../src/features/policy/second-person/second-person.js";
import { clientOf, toolCall, wordOf } from "../../../support/calls.js";
import { fakeTime, pass, settle } from "../../../support/fake-time.js";
import { again } from "../replies.js";
import { policyOf, rule, uncounted } from "../support.js";

const TIMEOUT = 600_000;
const ASK = {
  name: "two-eyes",
  tools: ["*__delete"],
  effect: "approve",
  approvers: ["group:leads", "lee"],
  approvalTimeoutMs: TIMEOUT,
} as const;
const LEE = { principal: { id: "lee", groups: [] }, isOperator: false };
const ann = clientOf({
  principal: { id: "ann", groups: ["leads"], claims: {} },
  info: { name: "desk", version: "3" },
});

const call = (args = { path: "/tmp" }, more: Partial<Call> = {}): Call =>
  toolCall("files", "delete", args, { client: ann, ...more });
const idOf = (approvals: OpenApprovals): string => approvals.list()[0]?.id ?? "";
const reasonOf = (reply: Reply): unknown =>
  reply.kind === "result" ? JSON.stringify(reply.result.object) : JSON.stringify(reply);

fakeTime();

describe("a call that needs another person", () => {
  test("waits without a question, is shown to approvers, and runs once when one of them accepts", async () => {
    const { handle, calls, policy } = policyOf({ rules: [ASK] });
    await pass(5);
    const reply = handle(call());
    await settle();
    expect(policy.open.list()).toEqual([
      {
        id: expect.any(String),
        ...{ tool: "files__delete", server: "files", principal: "ann", principalKey: "ann", host: "desk 3" },
        ...{ rule: "two-eyes", approvers: ["group:leads", "lee"], arguments: { path: "/tmp" } },
        ...{ at: Date.now(), expiresAt: Date.now() + TIMEOUT },
      },
    ]);
    expect(calls).toEqual([]);
    expect(policy.open.decide(idOf(policy.open), "accepted", LEE)).toBeUndefined();
    expect(wordOf(await reply)).toBe("result");
    expect(calls).toHaveLength(1);
    expect(policy.open.size).toBe(0);
  });

  test("is refused when an approver declines, and stays so for its state", async () => {
    const { handle, calls, policy } = policyOf({ rules: [ASK] });
    const reply = handle(call());
    await pass(HOLD_MS);
    const waiting = await reply;
    policy.open.decide(idOf(policy.open), "declined", LEE);
    for (const _ of [1, 2]) {
      const refused = await handle(again(call(), waiting, {}));
      expect(wordOf(refused)).toBe("approval_declined");
      expect(reasonOf(refused)).toContain('"reason":"declined"');
    }
    expect(calls).toEqual([]);
  });

  test("continues in rounds without a connection, and its state runs it once", async () => {
    const { handle, calls, policy } = policyOf({ rules: [ASK] });
    const first = handle(call());
    await pass(HOLD_MS);
    const waiting = await first;
    expect(waiting).toMatchObject({ kind: "input_required", requests: {}, isWaiting: true });
    expect(policy.open.size).toBe(1);
    const id = idOf(policy.open);
    const second = handle(again(call(), waiting, {}));
    await settle();
    expect(idOf(policy.open)).toBe(id);
    expect(policy.open.size).toBe(1);
    policy.open.decide(id, "accepted", LEE);
    expect(wordOf(await second)).toBe("result");
    expect(wordOf(await handle(again(call(), waiting, {})))).toBe("state_rejected");
    expect(calls).toHaveLength(1);
  });

  test("finds a decision that was made between its rounds", async () => {
    const { handle, calls, policy } = policyOf({ rules: [ASK] });
    const first = handle(call());
    await pass(HOLD_MS);
    const waiting = await first;
    policy.open.decide(idOf(policy.open), "accepted", LEE);
    expect(wordOf(await handle(again(call(), waiting, {})))).toBe("result");
    expect(calls).toHaveLength(1);
  });

  test("of an ended process is open again, under its id and until its own end", async () => {
    const before = policyOf({ rules: [ASK] });
    const first = before.handle(call());
    await pass(HOLD_MS);
    const waiting = await first;
    const [known] = before.policy.open.list();
    before.policy.close();
    const after = policyOf({ rules: [ASK] });
    const second = after.handle(again(call(), waiting, {}));
    await settle();
    expect(after.policy.open.list()).toEqual([known]);
    after.policy.open.decide(known?.id ?? "", "accepted", LEE);
    expect(wordOf(await second)).toBe("result");
    expect([...before.calls, ...after.calls]).toHaveLength(1);
  });

  test("expires: held, and between its rounds", async () => {
    const { handle, calls, policy } = policyOf({ rules: [{ ...ASK, approvalTimeoutMs: 1_000 }] });
    const reply = handle(call());
    await pass(1_000);
    const refused = await reply;
    expect(wordOf(refused)).toBe("approval_declined");
    expect(reasonOf(refused)).toContain('"reason":"expired"');
    expect(policy.open.size).toBe(0);
    const longer = policyOf({ rules: [ASK] });
    const first = longer.handle(call());
    await pass(HOLD_MS);
    const waiting = await first;
    await pass(TIMEOUT);
    expect(longer.policy.open.size).toBe(0);
    expect(wordOf(await longer.handle(again(call(), waiting, {})))).toBe("approval_declined");
    expect([...calls, ...longer.calls]).toEqual([]);
  });

  test("is held in no time of its own", async () => {
    const { handle, policy } = policyOf({ rules: [ASK] });
    const record = callNotes();
    const reply = handle(call(undefined, { record }));
    await pass(5_000);
    policy.open.decide(idOf(policy.open), "accepted", LEE);
    await reply;
    expect(record.heldMs).toBe(5_000);
  });

  test("gets its state at once when the process stops, and a short hold after that", async () => {
    const { handle, policy } = policyOf({ rules: [ASK] });
    const first = handle(call());
    await settle();
    policy.open.stop();
    const waiting = await first;
    expect(waiting).toMatchObject({ kind: "input_required", isWaiting: "stopping" });
    const second = handle(again(call(), waiting, {}));
    await pass(3_000);
    expect(await second).toMatchObject({ isWaiting: "stopping" });
    expect(policy.open.size).toBe(1);
  });

  test("is withdrawn when its host cancels it", async () => {
    const { handle, calls, policy } = policyOf({ rules: [ASK] });
    const stop = new Stop();
    const reply = handle(call(undefined, { signal: stop.signal }));
    await settle();
    const id = idOf(policy.open);
    stop.abort();
    expect(wordOf(await reply)).toBe("cancelled");
    expect(policy.open.decide(id, "accepted", LEE)).toBe("there is no such open approval");
    expect(calls).toEqual([]);
  });

  test("reports progress that increases over its rounds, to a host that wants some", async () => {
    const { handle, policy } = policyOf({ rules: [ASK] });
    const progress: number[] = [];
    const params = { name: "files__delete", arguments: { path: "/tmp" }, _meta: { progressToken: 1 } };
    const watched = (): Call =>
      call(undefined, { params, notify: (notice) => progress.push(Number(notice.params?.progress)) });
    const first = handle(watched());
    await pass(HOLD_MS);
    const second = handle(again(watched(), await first, {}));
    await pass(HOLD_MS / 2);
    policy.open.decide(idOf(policy.open), "declined", LEE);
    await second;
    expect(progress.length).toBeGreaterThan(6);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(progress.at(-1)).toBeLessThan(0.001);
  });

  test("is not asked about again while the rule remembers the decision", async () => {
    const { handle, calls, policy } = policyOf({ rules: [{ ...ASK, rememberMs: 60_000 }] });
    const reply = handle(call());
    await settle();
    policy.open.decide(idOf(policy.open), "accepted", LEE);
    await reply;
    expect(wordOf(await handle(call()))).toBe("result");
    const other = handle(call({ path: "/etc" }));
    await settle();
    expect(policy.open.size).toBe(1);
    policy.close();
    expect(calls).toHaveLength(2);
    void other;
  });

  test("shows approvers no more than rules let the server see", async () => {
    const redact = {
      arguments: { paths: [], patterns: ["hunter2"] },
      results: { paths: [], patterns: [] },
      replacement: "[redacted]",
    };
    const { handle, policy } = policyOf({ rules: [ASK, { effect: "redact", tools: ["*"], redact }] });
    void handle(call({ path: "hunter2" }));
    await settle();
    expect(policy.open.list()).toMatchObject([{ arguments: { path: "[redacted]" } }]);
  });
});

describe("a decision", () => {
  const waiting = async () => {
    const { handle, policy } = policyOf({ rules: [ASK] });
    void handle(call());
    await settle();
    return {
      policy,
      decide: (by: Parameters<OpenApprovals["decide"]>[2]) =>
        policy.open.decide(idOf(policy.open), "accepted", by),
    };
  };

  test("never comes from the caller: neither by id, nor in a group of approvers, nor as an operator", async () => {
    const { decide } = await waiting();
    for (const isOperator of [false, true])
      expect(decide({ principal: ann.principal, isOperator })).toMatch("a call of your own");
  });

  test("is that of the approvers of the rule, by id and by group, and of operators", async () => {
    const bob = { id: "bob", groups: ["staff"] };
    expect((await waiting()).decide({ principal: bob, isOperator: false })).toMatch("only approvers");
    expect(
      (await waiting()).decide({ principal: { ...bob, groups: ["leads"] }, isOperator: false }),
    ).toBeUndefined();
    expect((await waiting()).decide({ principal: bob, isOperator: true })).toBeUndefined();
    // A group is no id.
    expect((await waiting()).decide({ principal: { id: "leads", groups: [] }, isOperator: false })).toMatch(
      "only approvers",
    );
  });

  test("reaches a call that was made before a reload", async () => {
    const config = (name: string) => ({
      policy: { default: "allow" as const, rules: [rule({ ...ASK, name })] },
    });
    const parts = { metrics: uncounted(), logger: SILENT };
    const before = createPolicy(config("two-eyes"), parts);
    const calls: Call[] = [];
    const reply = before.access(async (forwarded) => {
      calls.push(forwarded);
      return { kind: "error", error: { code: 1, message: "ran" } };
    })(call());
    await settle();
    const after = createPolicy(config("two-eyes"), parts, before);
    expect(after.open.list()).toHaveLength(1);
    after.open.decide(idOf(after.open), "accepted", LEE);
    await reply;
    expect(calls).toHaveLength(1);
  });
});

describe("open approvals", () => {
  const approval = (at: number, principal: string): OpenApproval => ({
    ...{ id: `a${at}`, tool: "t", server: "s", principal, principalKey: principal, rule: "r" },
    ...{ approvers: [], at: 0, expiresAt: 1_000, arguments: {} },
  });

  test("are bounded for each principal and in all, and make room as they end", () => {
    const open = new OpenApprovals();
    for (let at = 0; at < MAX_OPEN_OF_PRINCIPAL; at += 1) open.add(approval(at, "ann"));
    expect(() => open.add(approval(-1, "ann"))).toThrow(
      "too many approvals of this principal wait (limit 20)",
    );
    for (let at = MAX_OPEN_OF_PRINCIPAL; at < MAX_OPEN; at += 1) open.add(approval(at, `p${at}`));
    expect(() => open.add(approval(-1, "new"))).toThrow(
      "too many approvals wait at this gateway (limit 1000)",
    );
    open.end("a0", "declined");
    open.add(approval(-1, "ann"));
    expect(open.size).toBe(MAX_OPEN);
    open.close();
  });

  test("are bounded in what they show, and make room as they end", () => {
    const open = new OpenApprovals();
    const large = (at: number) => ({ ...approval(at, `p${at}`), arguments: "x".repeat(MAX_OPEN_LENGTH / 4) });
    for (const at of [1, 2, 3]) open.add(large(at));
    expect(() => open.add(large(4))).toThrow("too many approvals wait at this gateway");
    open.end("a1", "declined");
    open.add(large(4));
    open.close();
  });
});
