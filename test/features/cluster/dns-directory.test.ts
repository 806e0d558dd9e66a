/** How replicas find each other by a DNS name, without a store. */
import { expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { DnsDirectory, type DnsDirectoryOptions } from "../../../src/features/cluster/dns-directory.js";
import { PeerConnections } from "../../../src/features/cluster/peer-connections.js";
import { PeerKey } from "../../../src/features/cluster/peer-key.js";
import { fakeTime, pass, settle } from "../../support/fake-time.js";

fakeTime();

const replica = (id: string, at: string) => ({
  id,
  url: `http://${at}:9001`,
  version: "1",
  isLeaving: false,
});

function started(options: Partial<DnsDirectoryOptions>) {
  const connections = new PeerConnections({ id: "own", key: new PeerKey("secret") });
  const directory = new DnsDirectory({
    id: "own",
    name: "replicas",
    port: 9001,
    connections,
    logger: SILENT,
    ...options,
  });
  directory.start();
  onTestFinished(() => directory.close());
  return directory;
}

test("each address identifies its replica, and its own is not counted", async () => {
  const ids: Record<string, string> = { "http://10.0.0.1:9001": "own", "http://[fd00::2]:9001": "other" };
  const directory = started({
    resolve: async () => ["10.0.0.1", "fd00::2", "10.0.0.3"],
    ask: async (url) => (ids[url] === undefined ? undefined : { ...replica(ids[url], "x"), url }),
  });
  await settle();
  expect([directory.count, (await directory.find("other"))?.url]).toEqual([2, "http://[fd00::2]:9001"]);
});

test("a replica whose address disappears is removed, and a new one is found at once", async () => {
  let addresses = ["10.0.0.1"];
  const directory = started({
    resolve: async () => addresses,
    ask: async (url) => replica(`r${url.at(-6)}`, url.slice(7, -5)),
  });
  await settle();
  expect((await directory.find("r1"))?.id).toBe("r1");
  addresses = ["10.0.0.2"];
  await pass(1_500);
  expect((await directory.find("r2"))?.id).toBe("r2");
  const gone = directory.find("r1");
  await pass(1_000);
  expect(await gone).toBeUndefined();
});

test("lookups of unknown replicas resolve the name once a second, together, and see what has changed since", async () => {
  let [addresses, resolved] = [["10.0.0.1"], 0];
  const directory = started({
    resolve: async () => {
      resolved += 1;
      return addresses;
    },
    ask: async (url) => replica(`r${url.at(-6)}`, url.slice(7, -5)),
  });
  await settle();
  const found = Promise.all(["r2", "r2", "r3"].map((id) => directory.find(id)));
  addresses = ["10.0.0.1", "10.0.0.2"];
  await pass(1_000);
  expect((await found).map((one) => one?.id)).toEqual(["r2", "r2", undefined]);
  expect(resolved).toBe(2);
});

test("a name that cannot be resolved is logged once, and the known replicas stay", async () => {
  const lines: string[] = [];
  let isBroken = false;
  const directory = started({
    resolve: async () => {
      if (isBroken) throw new Error("ENOTFOUND");
      return ["10.0.0.1"];
    },
    ask: async () => replica("other", "10.0.0.1"),
    logger: { ...SILENT, warn: (_, sentence) => lines.push(sentence) },
  });
  await settle();
  isBroken = true;
  await pass(20_000);
  expect([directory.count, lines]).toEqual([2, ["the name of the replicas cannot be resolved"]]);
});

test("a replica that does not respond counts as busy for ten seconds, then as gone", async () => {
  let answers = true;
  const directory = started({
    resolve: async () => ["10.0.0.1"],
    ask: async () => (answers ? replica("other", "10.0.0.1") : undefined),
  });
  await settle();
  answers = false;
  await pass(6_000);
  expect((await directory.find("other"))?.id).toBe("other");
  await pass(6_000);
  const gone = directory.find("other");
  await pass(1_000);
  expect([directory.count, await gone]).toEqual([1, undefined]);
});

test("a process that stalled reports it until its timers have run", async () => {
  let [stalledMs, lapses] = [0, 0];
  const directory = started({
    resolve: async () => [],
    now: () => performance.now() + stalledMs,
    onLapsed: () => {
      lapses += 1;
    },
  });
  await pass(20_000);
  expect([directory.isRegistered, lapses]).toEqual([true, 0]);
  stalledMs = 5_000;
  expect([directory.isRegistered, directory.hasStalled]).toEqual([false, true]);
  await pass(1_000);
  expect([directory.isRegistered, lapses]).toEqual([true, 1]);
});
