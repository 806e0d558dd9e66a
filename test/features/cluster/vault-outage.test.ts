/** Records in the store of a cluster that does not answer for a moment: they wait, and what was sent is done when it continues. */
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { untilUp } from "../../../src/core/shared-store.js";
import { type OpenStore, openStore } from "../../../src/features/cluster/store.js";
import { credentialName } from "../../../src/features/vault/record-names.js";
import { recordsAt } from "../../../src/features/vault/records.js";
import { openVault, type VaultOptions } from "../../../src/features/vault/vault.js";
import { hasRedis, type Redis, startRedis } from "../../support/redis.js";
import { until } from "../../support/until.js";
import { credential } from "../vault/credentials.js";
import { MemoryStore } from "./memory-store.js";

const KEY = Buffer.alloc(32, 1).toString("base64");
const FOLDER = "/dev/null/credentials";
const NAME = credentialName("linear", "ann");

describe.runIf(hasRedis)("while the store stalls for a moment", () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  const connect = async (deadlineMs: number): Promise<OpenStore> => {
    const config = { url: redis.url, prefix: expect.getState().currentTestName ?? "" };
    const store = await openStore({ config, logger: SILENT, deadlineMs, probeMs: 10 });
    onTestFinished(() => store.close());
    expect(await untilUp(store, 5_000)).toBe(true);
    return store;
  };
  const vaultOn = (shared: OpenStore, options: Partial<VaultOptions> = {}) =>
    openVault({ folder: FOLDER, keys: { key: KEY }, shared, logger: SILENT, ...options });
  /** Has one deadline missed, by `work`, and lets the store continue then. */
  async function missing<T>(store: OpenStore, work: () => Promise<T>): Promise<T> {
    const { pid } = redis.process;
    process.kill(pid, "SIGSTOP");
    const done = work();
    try {
      await until("a missed deadline", () => !store.isUp);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    return done;
  }

  test("a lock is acquired although the response came too late, and released", async () => {
    const store = await connect(50);
    const one = await vaultOn(store, { outageMs: 60_000 });
    const two = await vaultOn(await connect(60_000), { lockTimes: { waitMs: 0 } });
    const ran = await missing(store, () => one.locked("linear", "ann", async () => "one"));
    expect(ran).toBe("one");
    expect(await two.locked("linear", "ann", async () => "two")).toBe("two");
  });

  test("an abandoned lock is not held when the store continues", async () => {
    const store = await connect(50);
    const one = await vaultOn(store, { outageMs: 0 });
    const two = await vaultOn(await connect(60_000), { lockTimes: { waitMs: 10_000 } });
    await expect(missing(store, () => one.locked("linear", "ann", async () => "one"))).rejects.toMatchObject({
      fault: "store",
    });
    expect(await two.locked("linear", "ann", async () => "two")).toBe("two");
  });

  test("a record is read, and written once although the response came too late", async () => {
    const store = await connect(50);
    const records = recordsAt({
      ...{ folder: FOLDER, keys: { kind: "key", text: KEY }, shared: store, logger: SILENT },
      outageMs: 60_000,
    });
    const vault = await vaultOn(await connect(60_000));
    await missing(store, () => records.write(NAME, credential({ generation: 2 }), { generation: 2 }));
    expect(await vault.read("linear", "ann")).toEqual(credential({ generation: 2 }));
    const { value } = (await missing(store, () => records.read(NAME))) ?? {};
    expect(value).toEqual(credential({ generation: 2 }));
  });
});

describe("while the store is unavailable", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("a record is retried for 2 s, and for 20 s while a lock is held", async () => {
    const scripts = { "lock.acquire": () => 1, "lock.release": () => 1, "record.read": () => null };
    const store = new MemoryStore(scripts).view();
    const keys = { kind: "key", text: KEY } as const;
    const records = recordsAt({ folder: FOLDER, keys, shared: store, logger: SILENT });
    store.connect(false);
    const refused = expect(records.read(NAME)).rejects.toMatchObject({ fault: "store" });
    await vi.advanceTimersByTimeAsync(2_000);
    await refused;
    store.connect(true);
    const lock = await records.lock(NAME);
    store.connect(false);
    const ends: unknown[] = [];
    const read = records.read(NAME).then((record) => ends.push(record));
    await vi.advanceTimersByTimeAsync(19_999);
    expect(ends).toEqual([]);
    store.connect(true);
    await read;
    store.connect(false);
    const late = expect(records.read(NAME)).rejects.toMatchObject({ fault: "store" });
    await vi.advanceTimersByTimeAsync(20_000);
    await late;
    await lock.release();
  });
});
