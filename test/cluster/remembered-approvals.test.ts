/** An approval that is remembered at one replica holds at all of them, with a real Redis. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { RememberedApprovals } from "../../src/cluster/remembered-approvals.js";
import { openStore } from "../../src/cluster/store.js";
import { untilUp } from "../../src/core/cluster.js";
import { SILENT } from "../../src/core/logger.js";
import { createPolicy } from "../../src/policy/policy.js";
import { Metrics } from "../../src/telemetry/metrics.js";
import { again, asksPeople } from "../policy/replies.js";
import { result, rule, toolCall } from "../policy/support.js";
import { hasRedis, PATIENT, type Redis, startRedis } from "../support/redis.js";
import { SECRET } from "../support/replicas.js";
import { until } from "../support/until.js";

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
    return async (rememberMs = 60_000) => {
      const store = await openStore({ config: { url, prefix }, logger: SILENT, ...PATIENT });
      onTestFinished(() => store.close());
      expect(await untilUp(store, 60_000)).toBe(true);
      const policy = createPolicy(
        { policy: { default: "allow", rules: [rule({ name: "ask", effect: "approve", rememberMs })] } },
        {
          metrics: new Metrics({ version: "1", process: false }),
          logger: SILENT,
          sharedApprovals: new RememberedApprovals(store, SECRET),
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
      return { policy, store, prefix, asks, approve };
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

  test("reveal to the store neither the principal nor the call", async () => {
    const { approve, store, prefix } = await cluster()();
    await approve("/very/secret");
    const keys = (await store.command(["KEYS", `${prefix}:*`])) as string[];
    const values = await Promise.all(keys.map((key) => store.command(["GET", key])));
    expect(keys).toHaveLength(1);
    for (const word of [asksPeople.principal.id, "secret", "delete", "files"])
      expect([...keys, ...values].join()).not.toContain(word);
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

  test("without the store use their own approvals, and revoke none", async () => {
    const other = await startRedis();
    const start = cluster(other.url);
    const [one, two] = [await start(), await start()];
    await one.approve();
    await other.stop();
    await until("the outage", () => !one.store.isUp && !two.store.isUp);
    expect(await one.asks()).toBe(false);
    expect(await two.asks()).toBe(true);
    const [{ id } = { id: "" }] = one.policy.approvals();
    await expect(one.policy.revokeApproval(id)).rejects.toThrow("the approval is still valid");
    expect(await one.asks()).toBe(false);
    await one.approve("/etc");
    expect(await one.asks("/etc")).toBe(false);
  });
});
