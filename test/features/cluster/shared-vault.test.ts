/** The vault in the store of a cluster, with a real Redis: what replicas see of each other's sign-ins, and what the store sees. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { untilUp } from "../../../src/core/shared-store.js";
import { type OpenStore, openStore } from "../../../src/features/cluster/store.js";
import type { LoginState } from "../../../src/features/sign-in/pending-content.js";
import { PendingRecords } from "../../../src/features/sign-in/pending-records.js";
import { recordsAt } from "../../../src/features/vault/records.js";
import {
  type OpenVault,
  openVault,
  type RecordChange,
  recordFileOf,
  type VaultOptions,
} from "../../../src/features/vault/vault.js";
import { hasRedis, PATIENT, type Redis, startRedis } from "../../support/redis.js";
import { until } from "../../support/until.js";
import { credential } from "../vault/credentials.js";

const KEY_A = Buffer.alloc(32, 1).toString("base64");
const KEY_B = Buffer.alloc(32, 2).toString("base64");
/** Nothing is written there: it cannot even be made. */
const FOLDER = "/dev/null/credentials";

describe.runIf(hasRedis)("replicas that share a vault", () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  let spaces = 0;
  /** Replicas over records of their own. */
  function cluster() {
    spaces += 1;
    const prefix = `test-${spaces}`;
    const connect = async (): Promise<OpenStore> => {
      const store = await openStore({ config: { url: redis.url, prefix }, logger: SILENT, ...PATIENT });
      onTestFinished(() => store.close());
      expect(await untilUp(store, 60_000)).toBe(true);
      return store;
    };
    return async (options: Partial<VaultOptions> = {}) => {
      const store = await connect();
      const vault = await openVault({
        ...{ folder: FOLDER, keys: { key: KEY_A }, shared: store, logger: SILENT },
        ...options,
      });
      return { store, vault };
    };
  }

  test("read, list and remove each other's sign-ins and registrations", async () => {
    const start = cluster();
    const [{ vault: one }, { vault: two }] = [await start(), await start()];
    await one.write(credential());
    await one.writeClient("https://i", "http://127.0.0.1/cb", credential().client);
    expect(await two.read("linear", "ann")).toEqual(credential());
    expect(await two.read("linear", "bob")).toBeUndefined();
    expect(await two.readClient("https://i", "http://127.0.0.1/cb")).toEqual(credential().client);
    const { tokens: _, ...rest } = credential();
    expect(await two.list()).toEqual([rest]);
    await two.remove("linear", "ann");
    expect(await one.read("linear", "ann")).toBeUndefined();
    expect(await one.list()).toEqual([]);
  });

  test("reveal to the store neither token nor principal nor server", async () => {
    const { store, vault } = await cluster()();
    // Sealed text may have three letters by chance.
    await vault.write(credential({ principal: "ann-of-accounting" }));
    const keys = (await store.command(["KEYS", "*"])) as string[];
    const kept = keys.map((key) => store.command(["DUMP", key]));
    const all = `${keys.join()} ${JSON.stringify(await Promise.all(kept))}`;
    for (const secret of ["access-1", "refresh-1", "linear", "ann-of-accounting"])
      expect(all).not.toContain(secret);
  });

  test("reject a record that was changed in the store, or belongs to another principal", async () => {
    const { store, vault } = await cluster()();
    await vault.write(credential());
    await vault.write(credential({ principal: "bob" }));
    const keyOf = (principal: string) => `test-${spaces}:{credentials}:${recordFileOf("linear", principal)}`;
    await store.command(["COPY", keyOf("ann"), keyOf("bob"), "REPLACE"]);
    await expect(vault.read("linear", "bob")).rejects.toMatchObject({ fault: "damaged" });
    await store.command(["HSET", keyOf("ann"), "sealed", "junk"]);
    await expect(vault.read("linear", "ann")).rejects.toMatchObject({ fault: "damaged" });
  });

  test("write sequentially: of two with the same generation one is stored, and no older one replaces it", async () => {
    const start = cluster();
    const [{ vault: one }, { vault: two }] = [await start(), await start()];
    for (let generation = 1; generation <= 20; generation += 1) {
      const written = await Promise.allSettled([
        one.write(credential({ generation, subject: "one" })),
        two.write(credential({ generation, subject: "two" })),
      ]);
      const failed = written.filter(({ status }) => status === "rejected");
      expect(failed).toMatchObject([{ reason: { fault: "superseded" } }]);
    }
    await expect(one.write(credential({ generation: 19 }))).rejects.toThrow("already has generation 20");
  });

  test("run tasks under one lock sequentially", async () => {
    const start = cluster();
    const vaults = [(await start()).vault, (await start()).vault];
    let running = 0;
    let most = 0;
    const task = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await vaults[0]?.list();
      running -= 1;
    };
    await Promise.all(Array.from({ length: 10 }, (_, at) => vaults[at % 2]?.locked("linear", "ann", task)));
    expect(most).toBe(1);
  });

  test("get the lock of a dead replica when it expires, and report a lock that is held for too long", async () => {
    const start = cluster();
    const never = 1_000_000;
    const { vault: ended } = await start({ lockTimes: { staleMs: 200, renewMs: never } });
    const { vault: holder } = await start({ lockTimes: { staleMs: never } });
    const { vault: other } = await start({ lockTimes: { waitMs: 60_000 } });
    const { vault: impatient } = await start({ lockTimes: { waitMs: 300 } });
    /** Holds the lock until the returned function is called. */
    const hold = async (vault: OpenVault, principal: string): Promise<() => void> => {
      let release = (): void => {};
      let isHeld = false;
      void vault.locked("linear", principal, () => {
        isHeld = true;
        return new Promise<void>((resolve) => (release = resolve));
      });
      await until("the lock", () => isHeld);
      return release;
    };
    await hold(ended, "ann");
    expect(await other.locked("linear", "ann", async () => "mine")).toBe("mine");
    const release = await hold(holder, "bob");
    await expect(impatient.locked("linear", "bob", async () => {})).rejects.toMatchObject({
      fault: "locked",
    });
    release();
    expect(await other.locked("linear", "bob", async () => "mine")).toBe("mine");
  });

  test("are notified of writes and removals, and after an outage of missed ones", async () => {
    const start = cluster();
    const [{ vault: one }, { vault: two, store }] = [await start(), await start()];
    const changes: RecordChange[] = [];
    onTestFinished(two.watch((change) => changes.push(change)));
    await until("the first notice", async () => {
      await one.write(credential({ generation: changes.length + Date.now() }));
      return changes.length > 0;
    });
    expect(changes.at(-1)?.credential).toMatchObject({ server: "linear", principal: "ann" });
    expect(await two.read("linear", "ann")).toBeDefined();
    // The connection that subscribes ends, and with it what is sent meanwhile.
    await store.command(["CLIENT", "KILL", "TYPE", "pubsub"]);
    await one.remove("linear", "ann");
    await until("the removal", () => changes.at(-1)?.credential === undefined);
  });

  test("report an unreachable store, and treat no sign-in as removed", async () => {
    const other = await startRedis();
    const store = await openStore({ config: { url: other.url, prefix: "away" }, logger: SILENT, ...PATIENT });
    onTestFinished(() => store.close());
    expect(await untilUp(store, 60_000)).toBe(true);
    const keys = { key: KEY_A };
    const vault = await openVault({ folder: FOLDER, keys, shared: store, logger: SILENT, outageMs: 0 });
    const changes: RecordChange[] = [];
    onTestFinished(vault.watch((change) => changes.push(change)));
    await vault.write(credential());
    await other.stop();
    const refused = {
      fault: "store",
      message: expect.stringContaining("the cluster's store cannot be reached"),
    };
    await expect(vault.read("linear", "ann")).rejects.toMatchObject(refused);
    await expect(vault.write(credential({ generation: 2 }))).rejects.toMatchObject(refused);
    await expect(vault.locked("linear", "ann", async () => {})).rejects.toMatchObject(refused);
    await expect(vault.list()).rejects.toMatchObject(refused);
    expect(changes.filter((change) => change.credential === undefined)).toEqual([]);
  });

  test("re-encrypt all records with a new first key, and name the key that one lacks", async () => {
    const start = cluster();
    const { vault: old } = await start();
    await old.write(credential());
    const { vault } = await start({ keys: { key: `${KEY_B},${KEY_A}` } });
    expect(await vault.rotate()).toMatchObject({ rotated: 1, unchanged: 0, failed: [] });
    expect(await vault.rotate()).toMatchObject({ rotated: 0, unchanged: 1 });
    expect(await vault.read("linear", "ann")).toEqual(credential());
    await expect(old.read("linear", "ann")).rejects.toMatchObject({ fault: "key" });
    await expect(vault.write(credential())).rejects.toMatchObject({ fault: "superseded" });
  });

  const pendingAt = (start: ReturnType<typeof cluster>) => async () => {
    const { store } = await start();
    const keys = { kind: "key", text: KEY_A } as const;
    const records = recordsAt({ folder: "/dev/null/sign-ins", keys, shared: store, logger: SILENT });
    let lists = 0;
    const list = records.list.bind(records);
    records.list = () => {
      lists += 1;
      return list();
    };
    const pending = new PendingRecords({ records, now: () => Date.now(), share: 2 });
    return { pending, lists: () => lists };
  };
  const loginOf = (principal: string): LoginState => ({ server: "notes", principal, state: "waiting" });

  test("take a pending sign-in once, at whichever replica", async () => {
    const begin = pendingAt(cluster());
    const [{ pending: one }, { pending: two }] = [await begin(), await begin()];
    const login = loginOf("ann");
    await one.put("login", "1", login);
    const taken = await Promise.all([one.take("login", "1"), two.take("login", "1")]);
    expect(taken.filter((each) => each !== undefined)).toEqual([login]);
  });

  test("keep the newest pending sign-ins of each principal, whatever the replica, and list none for that", async () => {
    const begin = pendingAt(cluster());
    const [one, two] = [await begin(), await begin()];
    await one.pending.put("login", "of bob", loginOf("bob"));
    for (let n = 0; n < 20; n += 1) await [one, two][n % 2]?.pending.put("login", `${n}`, loginOf("ann"));
    const left = await Promise.all(Array.from({ length: 20 }, (_, n) => two.pending.read("login", `${n}`)));
    expect(left.flatMap((each, n) => (each === undefined ? [] : [n]))).toEqual([18, 19]);
    expect(await two.pending.read("login", "of bob")).toEqual(loginOf("bob"));
    expect(one.lists() + two.lists()).toBe(2);
  });
});
