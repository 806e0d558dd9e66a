/** An approval that is remembered at one replica holds at all of them, with a real Redis. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { untilUp } from "../../../src/core/shared-store.js";
import { AuthenticatedValues } from "../../../src/features/cluster/authenticated-values.js";
import { PeerKey } from "../../../src/features/cluster/peer-key.js";
import { RememberedApprovals } from "../../../src/features/cluster/remembered-approvals.js";
import { openStore } from "../../../src/features/cluster/store.js";
import { createPolicy } from "../../../src/features/policy/policy.js";
import { result, toolCall } from "../../support/calls.js";
import { hasRedis, PATIENT, type Redis, startRedis } from "../../support/redis.js";
import { until } from "../../support/until.js";
import { again, asksPeople } from "../policy/replies.js";
import { rule, uncounted } from "../policy/support.js";
import { messagesInMemory } from "./peer-messages.js";
import { SECRET } from "./replicas.js";

describe.runIf(hasRedis)("replicas that share a store", () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  let clusters = 0;
  function cluster(url = redis.url) {
    clusters += 1;
    const prefix = `approvals-${clusters}`;
    const messagesOf = messagesInMemory();
    const values = new AuthenticatedValues(new PeerKey(SECRET), prefix);
    let started = 0;
    return async (rememberMs = 60_000) => {
      const store = await openStore({ config: { url, prefix }, logger: SILENT, ...PATIENT });
      onTestFinished(() => store.close());
      expect(await untilUp(store, 60_000)).toBe(true);
      started += 1;
      const messages = messagesOf(`rep0${started}`);
      const policy = createPolicy(
        { policy: { default: "allow", rules: [rule({ name: "ask", effect: "approve", rememberMs })] } },
        {
          metrics: uncounted(),
          logger: SILENT,
          sharedApprovals: new RememberedApprovals({
            ...{ messages, values, store, secret: SECRET, logger: SILENT },
          }),
        },
      );
      onTestFinished(() => policy.close());
      const handle = policy.access(async () => result({ content: [] }));
      const call = (path = "/tmp", client = asksPeople) => toolCall("files", "delete", { path }, { client });
      /** Whether the call needs an approval of a person. */
      const asks = async (...about: Parameters<typeof call>) =>
        (await handle(call(...about))).kind === "input_required";
      const approve = async (path?: string) =>
        handle(again(call(path), await handle(call(path)), { "cardea/approval": { action: "accept" } }));
      return { policy, store, prefix, asks, approve, messages };
    };
  }

  test("ask only once for the same call of the same principal, at whichever replica", async () => {
    const start = cluster();
    const [one, two] = [await start(), await start()];
    expect(await two.asks()).toBe(true);
    await one.approve();
    expect(await two.asks()).toBe(false);
    expect(await two.asks("/etc")).toBe(true);
    const bob = { ...asksPeople, principal: { ...asksPeople.principal, id: "bob" } };
    expect(await two.asks("/tmp", bob)).toBe(true);
    expect(two.policy.approvals()).toMatchObject([
      { ...one.policy.approvals()[0], until: expect.any(String) },
    ]);
    expect(Object.keys(two.policy.approvals()[0] ?? {})).toEqual(
      Object.keys(one.policy.approvals()[0] ?? {}),
    );
  });

  test("put none of it into the store, so that nothing written there is an approval", async () => {
    const start = cluster();
    const [one, two] = [await start(), await start()];
    await one.approve("/very/secret");
    expect(await one.store.command(["KEYS", `${one.prefix}:*`])).toEqual([]);
    expect(await two.asks("/very/secret")).toBe(false);
  });

  test("honour it at a replica that starts later, and without the one that received it", async () => {
    const start = cluster();
    const [one, two] = [await start(), await start()];
    await one.approve();
    one.messages.isGone = true;
    expect(await two.asks()).toBe(false);
    expect(await (await start()).asks()).toBe(false);
  });

  test("ask again, at a replica that starts later too, once it was revoked anywhere", async () => {
    const start = cluster();
    const [one, two] = [await start(), await start()];
    await one.approve();
    expect(await two.asks()).toBe(false);
    const [{ id } = { id: "" }] = two.policy.approvals();
    await two.policy.revokeApproval(id);
    expect(await one.asks()).toBe(true);
    expect(await (await start()).asks()).toBe(true);
    await one.approve();
    expect(await two.asks()).toBe(false);
  });

  test("say that it still holds where a replica cannot be reached", async () => {
    const start = cluster();
    const [one, two] = [await start(), await start()];
    await one.approve();
    expect(await two.asks()).toBe(false);
    const [{ id } = { id: "" }] = two.policy.approvals();
    one.messages.isCutOff = true;
    await expect(two.policy.revokeApproval(id)).rejects.toThrow("the approval is still valid at rep01");
    one.messages.isCutOff = false;
    expect(await two.policy.revokeApproval(id)).toBe(true);
    expect(await one.asks()).toBe(true);
  });

  test.each([
    ["forged", () => "2.0.x.y"],
    ["of another cluster", () => new AuthenticatedValues(new PeerKey("other"), "x").seal("hint", "c", "d")],
    ["empty", () => ""],
  ])("ask no person again for a hint that is %s", async (_, hint) => {
    const start = cluster();
    const [one, two] = [await start(), await start()];
    await one.approve();
    two.store.publish("approvals:revoked", hint());
    await two.store.command(["PUBLISH", `${two.prefix}:approvals:revoked`, hint()]);
    expect([await one.asks(), await two.asks()]).toEqual([false, false]);
  });

  test("ask again at every replica after a revocation at one", async () => {
    const start = cluster();
    const [one, two] = [await start(), await start()];
    await one.approve();
    expect(await two.asks()).toBe(false);
    expect(await two.policy.revokeApproval(two.policy.approvals()[0]?.id ?? "")).toBe(true);
    expect(await two.asks()).toBe(true);
    await until("the other replica to ask", () => one.asks());
  });

  test("ask again if a revocation message may be lost", async () => {
    const start = cluster();
    const [one, two] = [await start(), await start()];
    await one.approve();
    await one.store.command(["CLIENT", "KILL", "TYPE", "pubsub"]);
    await two.asks();
    await two.policy.revokeApproval(two.policy.approvals()[0]?.id ?? "");
    await until("the other replica to ask", () => one.asks());
  });

  test("keep an approval no longer than each replica's rule says", async () => {
    const start = cluster();
    const [long, none] = [await start(60_000), await start(1)];
    await long.approve();
    await none.asks();
    const [until = ""] = none.policy.approvals().map((approval) => approval.until);
    expect(until === "" || Date.parse(until) < Date.now() + 1_000).toBe(true);
  });

  test("need no store to honour or to revoke it", async () => {
    const other = await startRedis();
    const start = cluster(other.url);
    const [one, two] = [await start(), await start()];
    await one.approve();
    await other.stop();
    await until("the outage", () => !one.store.isUp && !two.store.isUp);
    expect([await one.asks(), await two.asks()]).toEqual([false, false]);
    const [{ id } = { id: "" }] = one.policy.approvals();
    expect(await one.policy.revokeApproval(id)).toBe(true);
    expect([await one.asks(), await two.asks()]).toEqual([true, true]);
  });

  test("that do not reach each other use their own, and learn of a revocation through the store", async () => {
    const start = cluster();
    const [one, two] = [await start(), await start()];
    await one.approve();
    expect(await two.asks()).toBe(false);
    expect(await two.asks("/etc")).toBe(true);
    one.messages.isCutOff = true;
    await one.approve("/etc");
    expect([await one.asks("/etc"), await two.asks("/etc")]).toEqual([false, true]);
    const [{ id } = { id: "" }] = two.policy.approvals();
    const subscribers = ["PUBSUB", "NUMSUB", `${one.prefix}:approvals:revoked`];
    await until("both to subscribe", async () => String(await one.store.command(subscribers)).endsWith(",2"));
    await expect(two.policy.revokeApproval(id)).rejects.toThrow("still valid");
    await until("the other replica to ask", () => one.asks());
  });
});
