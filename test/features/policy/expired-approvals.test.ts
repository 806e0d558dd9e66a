/** When is an approval expired: one that was asked for, and one that is remembered? */
import { beforeEach, describe, expect, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import type { ExpiredApproval } from "../../../src/features/policy/approvals.js";
import { createPolicy, type PolicyParts } from "../../../src/features/policy/policy.js";
import { result, toolCall } from "../../support/calls.js";
import { fakeTime, pass } from "../../support/fake-time.js";
import { again, asksPeople } from "./replies.js";
import { rule, uncounted } from "./support.js";

const HOUR = 3_600_000;
const ABOUT = { rule: "ask", principal: asksPeople.principal.id, target: "files__delete", server: "files" };

function world(parts: Partial<PolicyParts> = {}) {
  const expired: ExpiredApproval[] = [];
  const policy = createPolicy(
    {
      policy: { default: "allow", rules: [rule({ name: "ask", effect: "approve", rememberMs: 60_000 })] },
    },
    {
      metrics: uncounted(),
      logger: SILENT,
      approvalExpiry: { answerMs: () => HOUR, onExpired: (approval) => expired.push(approval) },
      ...parts,
    },
  );
  const handle = policy.access(async () => result({ content: [] }));
  const call = (path = "/tmp") => toolCall("files", "delete", { path }, { client: asksPeople });
  const approve = async (path?: string) =>
    handle(again(call(path), await handle(call(path)), { "cardea/approval": { action: "accept" } }));
  return { policy, expired, handle, call, approve };
}

fakeTime();
// lru-cache takes 0, where the fake clock begins, for no time at all.
beforeEach(() => pass(1));

describe("a pending approval", () => {
  test("expires once, when its answer would come too late", async () => {
    const { handle, call, expired } = world();
    await handle(call());
    await pass(HOUR - 1);
    expect(expired).toEqual([]);
    await pass(2_000);
    expect(expired).toEqual([ABOUT]);
    await pass(2 * HOUR);
    expect(expired).toHaveLength(1);
  });

  test("does not expire where it was declined", async () => {
    const { handle, call, expired } = world();
    const asked = await handle(call());
    await expect(
      handle(again(call(), asked, { "cardea/approval": { action: "decline" } })),
    ).rejects.toMatchObject({ code: "approval_declined" });
    await pass(2 * HOUR);
    expect(expired).toEqual([]);
  });

  test("does not expire where another replica has its answer", async () => {
    const used: string[] = [];
    const { handle, call, expired } = world({
      useOnce: async (nonce) => {
        used.push(nonce);
        return used.length > 1;
      },
    });
    await handle(call("/a"));
    await handle(call("/b"));
    await pass(HOUR + 2_000);
    expect(new Set(used).size).toBe(2);
    expect(expired).toEqual([ABOUT]);
  });

  test("does not expire after the end of the policy", async () => {
    const { policy, handle, call, expired } = world();
    await handle(call());
    policy.close();
    await handle(call());
    await pass(2 * HOUR);
    expect(expired).toEqual([]);
  });
});

describe("a remembered approval", () => {
  test("expires once for each call that it was given for, when its time has run out", async () => {
    const { approve, expired } = world();
    await approve("/a");
    await pass(30_000);
    await approve("/b");
    await pass(31_000);
    expect(expired).toEqual([{ ...ABOUT, outcome: "remembered" }]);
    await pass(31_000);
    expect(expired).toHaveLength(2);
    await pass(2 * HOUR);
    expect(expired).toHaveLength(2);
  });

  test("that was taken back does not expire", async () => {
    const { policy, approve, expired } = world();
    await approve();
    const [{ id } = { id: "" }] = policy.approvals();
    expect(await policy.revokeApproval(id)).toBe(true);
    expect(await policy.revokeApproval(id)).toBe(false);
    await pass(2 * HOUR);
    expect(expired).toEqual([]);
  });
});
