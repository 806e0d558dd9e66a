/** The records of sessions in a real Redis: what its scripts do, which other tests have in memory. */
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { ANONYMOUS } from "../../../src/core/client.js";
import { SILENT } from "../../../src/core/logger.js";
import { AuthenticatedValues } from "../../../src/features/cluster/authenticated-values.js";
import { PeerKey } from "../../../src/features/cluster/peer-key.js";
import { StoredSessions } from "../../../src/features/cluster/session-records.js";
import { openStore } from "../../../src/features/cluster/store.js";
import { hasRedis, PATIENT, type Redis, startRedis } from "../../support/redis.js";
import { until } from "../../support/until.js";
import { messagesInMemory } from "./peer-messages.js";

const STATE = {
  ...{ principal: ANONYMOUS, endpoint: "", revision: "2025-11-25" },
  ...{ capabilities: {}, subscriptions: [] },
};

describe.runIf(hasRedis)("in a real Redis", () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  let messagesOf = messagesInMemory();
  beforeEach(() => {
    messagesOf = messagesInMemory();
  });

  async function replica(own: string, others: readonly string[] = [], ttlMs = 60_000) {
    const store = await openStore({ config: { url: redis.url, prefix: "test" }, logger: SILENT, ...PATIENT });
    await until("a connection", () => store.isUp);
    const known = others.map((id) => ({ id, url: `http://${id}:9001`, version: "1", isLeaving: false }));
    const directory = { own, others: () => known, isRegistered: true, hasStalled: false };
    const messages = messagesOf(own);
    const values = new AuthenticatedValues(new PeerKey("key"), "test");
    const sessions = new StoredSessions({
      ...{ store, directory, secret: "key", logger: SILENT, ttlMs, messages, values },
    });
    onTestFinished(async () => {
      sessions.close();
      await store.close();
    });
    const ttl = async (id: string) => Number(await store.command(["PTTL", `test:session:{${id}}`]));
    return { sessions, store, ttl, messages };
  }

  test("a record has a TTL and one owner, and is deleted with its session", async () => {
    const [first, second, third] = [await replica("aaaaa"), await replica("bbbbb"), await replica("ccccc")];
    first.sessions.write("aaaaa-1", STATE);
    await until("the record", async () => (await second.sessions.ownerOf("aaaaa-1")) === "aaaaa");
    expect(await first.ttl("aaaaa-1")).toBeGreaterThan(50_000);
    await expect(second.sessions.adopt("aaaaa-1", ANONYMOUS, "")).rejects.toMatchObject({
      code: "overloaded",
    });
    await until("all to know of it", () => third.sessions.facts.local("aaaaa-1") !== undefined);
    first.messages.isGone = true;
    const claims = [second, third].map(({ sessions }) => sessions.claim("aaaaa-1", "aaaaa"));
    expect(new Set(await Promise.all(claims)).size).toBe(1);
    const adopted = [second, third].map(({ sessions }) => sessions.adopt("aaaaa-1", ANONYMOUS, ""));
    const outcomes = await Promise.allSettled(adopted);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const owner = await first.sessions.ownerOf("aaaaa-1");
    expect(["bbbbb", "ccccc"]).toContain(owner);
    // The first has no say any longer; the owner has.
    first.sessions.remove("aaaaa-1");
    expect(await first.sessions.ownerOf("aaaaa-1")).toBe(owner);
    (owner === "bbbbb" ? second : third).sessions.remove("aaaaa-1");
    await until("its end", async () => (await first.sessions.ownerOf("aaaaa-1")) === undefined);
  });

  test("a session that was handed over belongs to the other replica", async () => {
    const first = await replica("aaaaa", ["bbbbb"]);
    const second = await replica("bbbbb");
    first.sessions.write("aaaaa-2", STATE);
    await until("the record", async () => (await second.sessions.ownerOf("aaaaa-2")) === "aaaaa");
    expect(await first.sessions.move("aaaaa-2")).toBe(true);
    expect(await first.sessions.ownerOf("aaaaa-2")).toBe("bbbbb");
    expect(await second.sessions.adopt("aaaaa-2", ANONYMOUS, "")).toMatchObject({ from: "aaaaa" });
  });

  test("a record is renewed while its session lives, and written again if it was lost", async () => {
    const first = await replica("aaaaa", [], 2_000);
    first.sessions.write("aaaaa-3", STATE);
    await until("the record", async () => (await first.ttl("aaaaa-3")) > 0);
    await first.store.command(["PEXPIRE", "test:session:{aaaaa-3}", "60000"]);
    await until("it to be renewed", async () => (await first.ttl("aaaaa-3")) <= 2_000);
    await first.store.delete("session:{aaaaa-3}");
    await until("it to be there again", async () => (await first.ttl("aaaaa-3")) > 0);
  });

  test.each(["somebody", "2.0.x.ccccc"])(
    "an owner that no replica wrote is overwritten: %s",
    async (owner) => {
      const [first, second] = [await replica("aaaaa"), await replica("bbbbb")];
      first.sessions.write("aaaaa-4", STATE);
      await until("the record", async () => (await second.sessions.ownerOf("aaaaa-4")) === "aaaaa");
      await first.store.command(["HSET", "test:session:{aaaaa-4}", "owner", owner]);
      expect(await second.sessions.ownerOf("aaaaa-4")).toBeUndefined();
      expect(await first.sessions.ownerOf("aaaaa-4")).toBe("aaaaa");
      expect(await second.sessions.ownerOf("aaaaa-4")).toBe("aaaaa");
    },
  );
});
