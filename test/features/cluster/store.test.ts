/** The store of a cluster, with a real Redis: what it keeps, and what happens while it is away. */
import { spawnSync } from "node:child_process";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type LogFields, SILENT } from "../../../src/core/logger.js";
import { type SharedStore, StoreUnavailable } from "../../../src/core/shared-store.js";
import { openStore, type StoreOptions } from "../../../src/features/cluster/store.js";
import { hasRedis, PATIENT, type Redis, startRedis } from "../../support/redis.js";
import { until } from "../../support/until.js";

const ADD = { name: "add", text: "return redis.call('INCRBY', KEYS[1], ARGV[1])" };

/** Whether a use succeeds: a short deadline may be missed by a busy machine. */
const answers = (store: SharedStore): Promise<boolean> =>
  store.get("a").then(
    () => true,
    () => false,
  );

describe.runIf(hasRedis)("the store", () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  async function opened(url = redis.url, options: Partial<StoreOptions> = {}, prefix = "test") {
    const store = await openStore({ config: { url, prefix }, logger: SILENT, ...PATIENT, ...options });
    onTestFinished(() => store.close());
    return store;
  }
  const connected = async (...args: Parameters<typeof opened>) => {
    const store = await opened(...args);
    await until("a connection", () => store.isUp);
    return store;
  };

  test("keeps values for their TTL, below its prefix", async () => {
    const store = await connected();
    await store.set("a", "1", 60_000);
    expect(await store.get("a")).toBe("1");
    expect(await (await connected(redis.url, {}, "other")).get("a")).toBeUndefined();
    expect(Number(await store.command(["PTTL", "test:a"]))).toBeGreaterThan(0);
    await store.delete("a");
    expect(await store.get("a")).toBeUndefined();
  });

  test("sets a value only if it is absent", async () => {
    const [one, two] = [await connected(), await connected()];
    const won = await Promise.all([
      one.setIfAbsent("lock", "1", 60_000),
      two.setIfAbsent("lock", "2", 60_000),
    ]);
    expect(won.filter(Boolean)).toHaveLength(1);
  });

  test("runs scripts, also when the store has flushed them", async () => {
    const store = await connected();
    expect(await store.run(ADD, ["sum"], ["2"])).toBe(2);
    await store.command(["SCRIPT", "FLUSH"]);
    expect(await store.run(ADD, ["sum"], ["3"])).toBe(5);
  });

  test("delivers published messages until the subscription ends", async () => {
    const [one, two] = [await connected(), await connected()];
    const heard: string[] = [];
    const end = one.subscribe("hint:a", (message) => heard.push(message));
    await until("the hint", () => {
      two.publish("hint:a", "changed");
      return heard.length > 0;
    });
    end();
    const before = heard.length;
    const others: string[] = [];
    one.subscribe("hint:b", (message) => others.push(message));
    await until("a later hint", () => {
      two.publish("hint:a", "unheard");
      two.publish("hint:b", "heard");
      return others.length > 0;
    });
    expect(heard.slice(before).filter((message) => message === "unheard")).toEqual([]);
  });

  test("passes on errors of the store, and stays connected", async () => {
    const store = await connected();
    await store.set("text", "x", 60_000);
    await expect(store.run(ADD, ["text"], ["1"])).rejects.toThrow(/not an integer/);
    expect(store.isUp).toBe(true);
  });

  test("reconnects when the store was killed and started again", async () => {
    const own = await startRedis();
    onTestFinished(() => own.stop());
    const lines: [string, LogFields][] = [];
    const note = (fields: LogFields, sentence: string) => void lines.push([sentence, fields]);
    const store = await connected(own.url, { logger: { ...SILENT, warn: note, info: note } });
    const changes: boolean[] = [];
    store.onChange((isUp) => changes.push(isUp));
    const heard: string[] = [];
    store.subscribe("hint", (message) => heard.push(message));
    await own.process.stop("SIGKILL");
    await until("the outage", () => !store.isUp);
    await expect(store.get("a")).rejects.toThrow(StoreUnavailable);
    await own.again();
    await until("the way back", () => store.isUp);
    await store.set("a", "1", 60_000);
    expect(await store.get("a")).toBe("1");
    await until("hints after it", () => {
      store.publish("hint", "again");
      return heard.length > 0;
    });
    expect(changes).toEqual([false, true]);
    expect(lines.map(([sentence]) => sentence)).toEqual([
      "the cluster's store is connected",
      "the cluster's store cannot be reached",
      "the cluster's store is connected",
    ]);
  });

  test("that is stopped (SIGSTOP) fails one command by its deadline, and the others immediately", async () => {
    const own = await startRedis();
    onTestFinished(() => own.stop());
    const uses: string[] = [];
    const store = await connected(own.url, { deadlineMs: 50, onUse: ({ outcome }) => uses.push(outcome) });
    own.process.child.kill("SIGSTOP");
    await expect(store.get("a")).rejects.toThrow(/did not answer GET/);
    await expect(store.get("a")).rejects.toThrow(/cannot be reached/);
    expect(uses).toEqual(["failed"]);
    own.process.child.kill("SIGCONT");
    await until("an answer", () => answers(store));
  });

  test("does not count as unavailable when the process itself stalled for longer than the deadline", async () => {
    const store = await connected(redis.url, { deadlineMs: 20 });
    const reading = store.get("a");
    // The command leaves the process; its answer arrives while nothing runs here, before that to a later one.
    await new Promise((resolve) => setImmediate(resolve));
    spawnSync("redis-cli", ["-p", String(redis.port), "ping"]);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    expect(await reading).toBeUndefined();
    expect(store.isUp).toBe(true);
  });

  test("is reached by a new connection when the old one is half open, as after a partition", async () => {
    const passed: Socket[] = [];
    const proxy = createServer((client) => {
      const server = connect(redis.port, "127.0.0.1");
      for (const socket of [client, server]) {
        socket.on("error", () => {});
        passed.push(socket);
      }
      client.pipe(server).pipe(client);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(async () => {
      for (const socket of passed) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    });
    const url = `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const store = await connected(url, { deadlineMs: 20, probeMs: 10, silenceMs: 300 });
    for (const socket of passed) socket.unpipe().resume();
    await expect(store.get("a")).rejects.toThrow(StoreUnavailable);
    await until("an answer", () => answers(store));
  });

  test("that is unavailable at the start is an outage, not an error", async () => {
    const store = await opened("redis://127.0.0.1:1");
    await expect(store.get("a")).rejects.toThrow(StoreUnavailable);
  });

  test("uses the user and the password of the config", async () => {
    const own = await startRedis(["--requirepass", "pa ss"]);
    onTestFinished(() => own.stop());
    const store = await openStore({
      config: { url: own.url, username: "default", password: "pa ss", prefix: "p" },
      logger: SILENT,
      ...PATIENT,
    });
    onTestFinished(() => store.close());
    await until("a connection", () => store.isUp);
    expect(await store.get("a")).toBeUndefined();
  });
});
