/** How replicas find each other in the store: who is there, who is gone, and who must ask whether it still is. */
import { describe, expect, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { AuthenticatedValues } from "../../../src/features/cluster/authenticated-values.js";
import { PeerKey } from "../../../src/features/cluster/peer-key.js";
import { StoreDirectory, type StoreDirectoryOptions } from "../../../src/features/cluster/store-directory.js";
import { fakeTime, pass, settle } from "../../support/fake-time.js";
import type { StoreView } from "./memory-store.js";
import { memoryStore } from "./replicas.js";

/** A start that fails is an unhandled rejection, which ends the test. */
const failed = (error: unknown): never => {
  throw error;
};

fakeTime();

const values = new AuthenticatedValues(new PeerKey("secret"), "cardea");

const directory = (store: StoreView, id: string, options: Partial<StoreDirectoryOptions> = {}) =>
  new StoreDirectory({ id, version: "1.2.3", store, values, logger: SILENT, ...options });

describe("a replica", () => {
  test("is found by others from its start until its stop", async () => {
    const store = memoryStore();
    const [one, two] = [directory(store.view(), "one"), directory(store.view(), "two")];
    one.start("http://one:9001").catch(failed).catch(failed);
    two.start("http://two:9001").catch(failed).catch(failed);
    await pass(3_000);
    const found = { id: "one", url: "http://one:9001", version: "1.2.3", isLeaving: false };
    expect(await two.find("one")).toEqual(found);
    expect([two.others(), two.count]).toEqual([[found], 2]);
    one.leave().catch(failed);
    await pass(3_000);
    expect(await two.find("one")).toEqual({ ...found, isLeaving: true });
    await one.close();
    await pass(3_000);
    expect([await two.find("one"), two.count]).toEqual([undefined, 1]);
  });

  test("that dies without unregistering is gone after ten seconds", async () => {
    const store = memoryStore();
    const connection = store.view();
    const [one, two] = [directory(connection, "one"), directory(store.view(), "two")];
    one.start("http://one:9001").catch(failed).catch(failed);
    two.start("http://two:9001").catch(failed).catch(failed);
    await pass(3_000);
    connection.connect(false);
    await pass(6_000);
    expect(two.count).toBe(2);
    await pass(6_000);
    expect([two.count, await two.find("one")]).toEqual([1, undefined]);
  });

  test("that is unknown is looked up again, once for all concurrent requests", async () => {
    const store = memoryStore();
    const one = directory(store.view(), "one");
    await one.start("http://one:9001");
    const before = store.uses.length;
    const found = await Promise.all(Array.from({ length: 10 }, () => one.find("other")));
    expect(found.every((replica) => replica === undefined)).toBe(true);
    // One may have been under way when the others asked.
    expect(store.uses.length - before).toBeLessThanOrEqual(2);
  });

  test("that has just registered is found at once, also by a replica that has just looked", async () => {
    const store = memoryStore();
    const [one, two] = [directory(store.view(), "one"), directory(store.view(), "two")];
    await one.start("http://one:9001");
    expect(await one.find("two")).toBeUndefined();
    const under = one.beat();
    await two.start("http://two:9001");
    expect((await one.find("two"))?.url).toBe("http://two:9001");
    await under;
  });

  test("is certain of what is gone, except without the store, and for ten seconds after it lost its data", async () => {
    const store = memoryStore();
    const connection = store.view();
    const one = directory(connection, "one");
    await one.start("http://one:9001");
    expect(await one.isCertain()).toBe(true);
    connection.connect(false);
    expect(await one.isCertain()).toBe(false);
    connection.connect(true);
    await settle();
    expect(await one.isCertain()).toBe(true);
    store.flush();
    expect(await one.isCertain()).toBe(false);
    await pass(10_000);
    expect(await one.isCertain()).toBe(true);
  });

  test("keeps the known replicas during an outage of the store, and reports when its own registration is uncertain", async () => {
    const store = memoryStore();
    const connection = store.view();
    let lapses = 0;
    const one = directory(connection, "one", {
      onLapsed: () => {
        lapses += 1;
      },
    });
    const two = directory(store.view(), "two");
    one.start("http://one:9001").catch(failed).catch(failed);
    two.start("http://two:9001").catch(failed).catch(failed);
    await pass(3_000);
    expect(one.isRegistered).toBe(true);
    connection.connect(false);
    await pass(12_000);
    expect([one.isRegistered, one.count]).toEqual([false, 2]);
    expect(lapses).toBe(0);
    connection.connect(true);
    await settle();
    expect([one.isRegistered, lapses]).toEqual([true, 1]);
  });

  test("after a stall knows, before the store responds, that it may count as gone", async () => {
    const store = memoryStore();
    const connection = store.view();
    let [stalledMs, lapses] = [0, 0];
    const one = directory(connection, "one", {
      now: () => performance.now() + stalledMs,
      onLapsed: () => {
        lapses += 1;
      },
    });
    const state = () => [one.isRegistered, one.hasStalled, lapses];
    one.start("http://one:9001").catch(failed).catch(failed);
    await pass(3_000);
    expect(state()).toEqual([true, false, 0]);
    stalledMs = 11_000;
    expect(state()).toEqual([false, true, 0]);
    connection.connect(false);
    await pass(3_000);
    expect(state()).toEqual([false, true, 0]);
    connection.connect(true);
    await settle();
    expect(state()).toEqual([true, false, 1]);
  });

  test("whose registration has expired is silent, unless it announced its stop", async () => {
    const store = memoryStore();
    const [lost, left] = [store.view(), store.view()];
    const [one, two, three] = [
      directory(lost, "one"),
      directory(left, "two"),
      directory(store.view(), "three"),
    ];
    for (const each of [one, two, three]) each.start(`http://${each.own}:9001`).catch(failed);
    await pass(3_000);
    two.leave().catch(failed);
    await pass(3_000);
    lost.connect(false);
    left.connect(false);
    expect(three.silent("one")).toBeUndefined();
    await pass(15_000);
    expect([three.silent("one")?.url, three.silent("two")]).toEqual(["http://one:9001", undefined]);
    lost.connect(true);
    await pass(3_000);
    expect([three.silent("one"), (await three.find("one"))?.id]).toEqual([undefined, "one"]);
  });

  test("registers again after the store was emptied, and has not lapsed", async () => {
    const store = memoryStore();
    let lapses = 0;
    const one = directory(store.view(), "one", {
      onLapsed: () => {
        lapses += 1;
      },
    });
    one.start("http://one:9001").catch(failed).catch(failed);
    await pass(3_000);
    store.flush();
    await pass(3_000);
    const two = directory(store.view(), "two");
    expect([(await two.find("one"))?.id, lapses]).toEqual(["one", 0]);
  });

  test.each([
    ...["not JSON", "[]", '{"schema":1,"url":"http://a:1","version":"0.1.0"}'],
    values.seal("replica", "other", '{"schema":3,"beat":1,"url":"http://a:1"}', 60_000),
    values.seal("replica", "other", '{"schema":2,"beat":1,"url":"no URL"}', 60_000),
  ])("with another format receives no forwarded requests: %s", async (entry) => {
    const store = memoryStore();
    store.set("replica other", entry, 60_000);
    expect(await directory(store.view(), "one").find("other")).toBeUndefined();
  });
});

describe("a registration that a writer of the store has written", () => {
  const ENTRY = '{"schema":2,"beat":9,"url":"http://attacker:1"}';
  const other = (secret: string, prefix: string) => new AuthenticatedValues(new PeerKey(secret), prefix);

  test.each([
    ["without the key", ENTRY],
    ["with another key", other("guessed", "cardea").seal("replica", "other", ENTRY, 60_000)],
    ["of another replica", values.seal("replica", "one", ENTRY, 60_000)],
    ["of another kind", values.seal("owner", "other", ENTRY, 60_000)],
    ["of another cluster in the same store", other("secret", "staging").seal("replica", "other", ENTRY)],
    ["with another end", values.seal("replica", "other", ENTRY, 1).replace(/^2\.\d+/, "2.99999999999999")],
    ["that has ended", values.seal("replica", "other", ENTRY, -11 * 60_000)],
    ["with another text", values.seal("replica", "other", ENTRY).replace("attacker", "attackee")],
  ])("%s gets nothing", async (_, entry) => {
    const store = memoryStore();
    const lines: string[] = [];
    const logger = { ...SILENT, warn: (_about: object, sentence: string) => void lines.push(sentence) };
    store.set("replica other", entry, 60_000);
    const one = directory(store.view(), "one", { logger });
    expect([await one.find("other"), one.count]).toEqual([undefined, 1]);
    await pass(3_000);
    expect([await one.find("other"), lines.length]).toEqual([undefined, 1]);
  });

  test("again after its replica has ended is gone ten seconds later, and one of before it left is refused", async () => {
    const store = memoryStore();
    const [one, two] = [directory(store.view(), "one"), directory(store.view(), "two")];
    one.start("http://one:9001").catch(failed);
    two.start("http://two:9001").catch(failed);
    await pass(3_000);
    const earlier = store.get("replica one") ?? "";
    one.leave().catch(failed);
    await pass(3_000);
    expect(two.others()).toMatchObject([{ isLeaving: true }]);
    store.set("replica one", earlier, 3_600_000);
    await two.beat();
    expect(two.others()).toEqual([]);
    await pass(3_000);
    expect(two.others()).toMatchObject([{ isLeaving: true }]);
    const last = store.get("replica one") ?? "";
    await one.close();
    for (let at = 0; at < 4; at += 1) {
      store.set("replica one", last, 3_600_000);
      await pass(3_000);
    }
    expect([two.others(), two.count]).toEqual([[], 1]);
  });
});
