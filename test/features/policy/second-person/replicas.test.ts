/** Approvals that are open at several replicas: each ends once, and approvers are asked at hosts of all of them. */
import { describe, expect, onTestFinished, test } from "vitest";
import { HOLD_MS } from "../../../../src/features/policy/second-person/second-person.js";
import { clientOf, toolCall, wordOf } from "../../../support/calls.js";
import { fakeTime, pass, settle } from "../../../support/fake-time.js";
import { again } from "../replies.js";
import { policiesOf, type ReplicaOfPolicy } from "./two-replicas.js";

const TIMEOUT = 600_000;
const ASK = {
  name: "two-eyes",
  tools: ["*__delete"],
  effect: "approve",
  approvers: ["lee", "bob", "ann"],
  approvalTimeoutMs: TIMEOUT,
} as const;

fakeTime();

const ann = clientOf();
const call = () => toolCall("files", "delete", { path: "/tmp" }, { client: ann });

function two() {
  const { replicas, ran } = policiesOf(2, ASK);
  const [first, second] = replicas;
  if (first === undefined || second === undefined) throw new Error("there are two");
  onTestFinished(() => void Promise.all(replicas.map((each) => each.close())));
  return { first, second, ran, all: replicas };
}

/** A call that was held at the first replica and is held at the second one: its approval is open at both. */
async function openAtBoth() {
  const { first, second, ran, all } = two();
  const round = first.handle(call());
  await pass(HOLD_MS);
  const waiting = await round;
  const reply = second.handle(again(call(), waiting, {}));
  await settle();
  const [id = ""] = await first.ids();
  return { first, second, ran, all, waiting, reply, id };
}

const auditedBy = (all: readonly ReplicaOfPolicy[]) => all.flatMap(({ audited }) => audited);
const countedBy = (all: readonly ReplicaOfPolicy[]) => all.flatMap(({ counted }) => counted);

describe("an approval that is open at two replicas", () => {
  test("expires once", async () => {
    const { all, ran, reply, waiting } = await openAtBoth();
    // The host of the second round gets its state again, and makes no further one.
    await pass(TIMEOUT);
    await reply;
    await pass(10_000);
    expect(auditedBy(all)).toEqual([["ann", "expired"]]);
    expect(countedBy(all)).toEqual(["expired"]);
    for (const { handle, ids } of all) {
      expect(wordOf(await handle(again(call(), waiting, {})))).toBe("approval_declined");
      expect(await ids()).toEqual([]);
    }
    expect(ran).toEqual([]);
    expect(auditedBy(all)).toHaveLength(1);
  });

  test.each([0, 1])("expires at each side where replica %i reaches no other", async (at) => {
    const { all, reply } = await openAtBoth();
    const lonely = all[at];
    if (lonely === undefined) throw new Error("there are two");
    lonely.isCutOff = true;
    await pass(TIMEOUT);
    await reply;
    expect(all.map(({ counted }) => counted)).toEqual([["expired"], ["expired"]]);
  });

  test.each([
    ["accept", "decline"],
    ["decline", "accept"],
  ] as const)(
    "ends once where one person says %s and another one %s at the same time",
    async (here, there) => {
      const { first, second, all, ran, reply, id } = await openAtBoth();
      const said = await Promise.all([first.decide(id, here), second.decide(id, there, "bob")]);
      expect(said.filter((refusal) => refusal === undefined)).toHaveLength(1);
      const isAccepted = said[here === "accept" ? 0 : 1] === undefined;
      expect(wordOf(await reply)).toBe(isAccepted ? "result" : "approval_declined");
      expect(ran).toHaveLength(isAccepted ? 1 : 0);
      await pass(2 * TIMEOUT);
      expect(auditedBy(all)).toHaveLength(1);
      expect(countedBy(all)).toEqual([isAccepted ? "accepted" : "declined"]);
    },
  );

  test("that was decided while a replica was not reached has the same end there later", async () => {
    const { first, second, all, ran, reply, id, waiting } = await openAtBoth();
    second.isCutOff = true;
    expect(await first.decide(id, "decline")).toBeUndefined();
    second.isCutOff = false;
    expect(await second.decide(id, "accept", "bob")).toBe("there is no such open approval");
    expect(wordOf(await reply)).toBe("approval_declined");
    expect(wordOf(await first.handle(again(call(), waiting, {})))).toBe("approval_declined");
    await pass(2 * TIMEOUT);
    expect(countedBy(all)).toEqual(["declined"]);
    expect(ran).toEqual([]);
  });

  test("cannot be decided when its time is over", async () => {
    const { first, all, reply, id } = await openAtBoth();
    await pass(TIMEOUT - HOLD_MS - 1);
    const late = first.decide(id, "accept");
    await pass(1);
    expect(await late).toBeUndefined();
    await reply;
    expect(await first.decide(id, "decline")).toBe("there is no such open approval");
    expect(countedBy(all)).toEqual(["accepted"]);
  });
});

describe("an approver's host", () => {
  const ACCEPT = { action: "accept", content: { decision: "accept" } };

  test("is asked at another replica than the call's, and its decision runs the call once", async () => {
    const { first, second, all, ran } = two();
    const host = second.connect("lee");
    const reply = first.handle(call());
    await settle();
    expect(host.asked).toHaveLength(1);
    host.answer(ACCEPT);
    expect(wordOf(await reply)).toBe("result");
    expect(ran).toHaveLength(1);
    expect(auditedBy(all)).toEqual([["lee", "accepted"]]);
  });

  test.each(["the call's", "another"])("that connects later to %s replica is asked, once", async (whose) => {
    const { first, second, ran } = two();
    const reply = first.handle(call());
    await settle();
    const replica = whose === "another" ? second : first;
    const host = replica.connect("lee");
    const other = replica.connect("ann", "the caller's host");
    await settle();
    expect(host.asked).toHaveLength(1);
    expect(other.asked).toEqual([]);
    host.answer({ action: "cancel" });
    await settle();
    // Its stream was closed, and is open again.
    const reconnected = replica.connect("lee");
    const further = replica.connect("lee", "a further host");
    await settle();
    expect(reconnected.asked).toEqual([]);
    expect(further.asked).toHaveLength(1);
    further.answer(ACCEPT);
    expect(wordOf(await reply)).toBe("result");
    expect(ran).toHaveLength(1);
  });

  test("is not asked twice about a call that continues at its replica", async () => {
    const { first, second } = two();
    const host = second.connect("lee");
    const round = first.handle(call());
    await pass(HOLD_MS);
    const reply = second.handle(again(call(), await round, {}));
    await settle();
    expect(host.asked).toHaveLength(1);
    host.answer(ACCEPT);
    expect(wordOf(await reply)).toBe("result");
  });

  test("has its form withdrawn when the approval ends at another replica", async () => {
    const { first, second, ran } = two();
    const host = second.connect("lee");
    const reply = first.handle(call());
    await settle();
    const [id = ""] = await second.ids();
    await first.decide(id, "decline", "bob");
    expect(wordOf(await reply)).toBe("approval_declined");
    await settle();
    expect(host.withdrawn).toEqual(host.asked);
    expect(ran).toEqual([]);
  });
});
