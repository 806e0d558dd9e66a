/** What `cardea doctor` says of a cluster: each replica that others cannot use, and why. */
import "../admin/needed.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { checkCluster, replicaFinding } from "../../../src/features/cluster/check-cluster.js";
import { readInfo } from "../../../src/features/cluster/check-store.js";
import { PeerKey } from "../../../src/features/cluster/peer-key.js";
import type { ReplicaAnswer } from "../../../src/features/cluster/probe-replica.js";
import { type OpenStore, openStore } from "../../../src/features/cluster/store.js";
import { hasRedis, PATIENT, type Redis, startRedis } from "../../support/redis.js";
import { until } from "../../support/until.js";
import { SECRET, startReplica } from "./replicas.js";

const NOW = 1_800_000_000_000;
const PLACE = { id: "abcde", url: "http://10.0.0.7:9001" };
const GOOD = { id: "abcde", version: "1.2.3", isLeaving: false, now: NOW, keys: new PeerKey(SECRET).digest };
const found = (answer: ReplicaAnswer) =>
  replicaFinding(PLACE, answer, { secret: SECRET, version: "1.2.3", now: () => NOW });
const page = (more: object = {}) => found({ kind: "page", page: { ...GOOD, ...more } });
const refused = (date: number, reason = "key") =>
  found({ kind: "refused", error: new Error(`it refuses the ${reason}`), reason, date });

test.each([
  ["is all right", page(), true, /all right.*10\.0\.0\.7/, undefined],
  ["is about to stop", page({ isLeaving: true }), true, /about to stop/, undefined],
  ["is of another version", page({ version: "1.2.2" }), true, /all right/, /1\.2\.2.*1\.2\.3/],
  ["has another time", page({ now: NOW - 120_000 }), true, /all right/, /-120 s/],
  ["seals with another secret", page({ keys: "other" }), false, /keys\.state is another/, /same keys\.state/],
  ["is another one at that address", page({ id: "other" }), false, /replica other answers/, /advertise/],
  ["refuses the key", refused(NOW), false, /refuses the key/, /same cluster\.peers\.key/],
  ["is of another version", refused(NOW, "protocol"), false, /refuses/, /same version of Cardea/],
  ["is behind a relay", refused(NOW, "address"), false, /refuses/, /cluster\.peers\.advertise/],
  ["refuses because of the time", refused(NOW + 900_000), false, /refuses/, /900 s/],
  [
    "is not there",
    found({ kind: "failed", error: new Error("ECONNREFUSED") }),
    false,
    /cannot be reached.*ECONN/,
    /port/,
  ],
] as const)("a replica that %s", (_, finding, ok, sentence, advice) => {
  expect(finding.about).toBe("replica abcde");
  expect(finding.ok).toBe(ok);
  expect(finding.sentence).toMatch(sentence);
  if (advice === undefined) expect(finding.advice).toBeUndefined();
  else expect(finding.advice).toMatch(advice);
});

test("a status page of an earlier version with fewer members is no fault", () => {
  expect(found({ kind: "page", page: { id: "abcde", version: "1.2.3", isLeaving: false } }).ok).toBe(true);
});

test.each([
  ["redis_version:6.0.16\r\nmaxmemory_policy:noeviction\r\n", true, /Redis 6\.0\.16/, 1],
  ["redis_version:6.2.0\r\nmaxmemory_policy:volatile-ttl\r\n", false, /Redis 6\.2\.0/, 0],
  ["redis_version:7.2.4\r\nvalkey_version:8.0.1\r\n", false, /Valkey 8\.0\.1/, 0],
  ["redis_version:10.0.0\r\nmaxmemory_policy:volatile-lru\r\n", false, /Redis 10/, 1],
  ["# nothing", false, /unknown version/, 0],
  ["redis_version:7.2.0\r\naof_enabled:0\r\n", false, /Redis 7/, 1],
  ["redis_version:7.2.0\r\naof_enabled:1\r\n", false, /Redis 7/, 0],
] as const)("a store that holds sign-ins, and whose INFO is %j", (text, isOld, sentence, remarks) => {
  const info = readInfo(text, "in 1 ms", true);
  expect([info.isOld, info.remarks.length]).toEqual([isOld, remarks]);
  expect(info.sentence).toMatch(sentence);
});

describe.runIf(hasRedis)("a cluster with a real store", () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  const examined = (
    url: string,
    secret = SECRET,
    more: { readonly username?: string; readonly password?: string; readonly now?: () => number } = {},
  ) =>
    checkCluster({
      config: {
        store: {
          ...{ url, prefix: "doctor" },
          ...(more.username !== undefined && { username: more.username }),
          ...(more.password !== undefined && { password: more.password }),
        },
        peers: { kind: "store", listen: { host: "127.0.0.1", port: 0 } },
        onOutage: "share",
        adopt: true,
      },
      secret,
      version: "0.0.0-test",
      ...(more.now !== undefined && { now: more.now }),
    });

  test("is checked completely, without joining it", async () => {
    const store = await openStore({
      config: { url: redis.url, prefix: "doctor" },
      logger: SILENT,
      ...PATIENT,
    });
    onTestFinished(() => store.close());
    await until("a connection", () => store.isUp);
    expect(await examined(redis.url)).toEqual([
      {
        about: "store",
        ok: true,
        sentence: expect.stringMatching(/^it answers in [\d.]+ ms: (?:Redis|Valkey) \d/),
      },
      { about: "replicas", ok: true, sentence: "none runs at present" },
    ]);
    const replica = await startReplica(
      store,
      { mcpServers: {} },
      { store: { url: redis.url, prefix: "doctor" } },
    );
    onTestFinished(() => replica.gateway.stop({ immediate: true }));
    const [, first, ...more] = await until("its registration", async () => {
      const findings = await examined(redis.url);
      return findings.some(({ about }) => about.includes(replica.id)) && findings;
    });
    expect([first?.ok, first?.sentence, more]).toEqual([true, expect.stringContaining("all right"), []]);
    const [, other] = await examined(redis.url, "another secret, also 32 long ...");
    expect([other?.ok, other?.sentence]).toEqual([
      false,
      expect.stringContaining("key of the cluster is another one"),
    ]);
    const shown = await (await fetch(`${replica.admin}/api/v1/cluster`)).json();
    expect(shown).toEqual({
      replicas: [expect.objectContaining({ id: replica.id, isOwn: true, isLeaving: false })],
      storeIsUp: true,
    });
  });

  /** Connected as the default user, which may do everything. */
  const openedAs = async (): Promise<OpenStore> => {
    const store = await openStore({
      config: { url: redis.url, prefix: "doctor" },
      logger: SILENT,
      ...PATIENT,
    });
    onTestFinished(() => store.close());
    await until("a connection", () => store.isUp);
    return store;
  };
  const RIGHTS = "~doctor:* &doctor:* +@read +@write +@scripting +@pubsub -@dangerous".split(" ");

  test("whose user lacks the permission for TIME gets advice, and no further findings", async () => {
    const store = await openedAs();
    await store.command(["ACL", "SETUSER", "gateway", "on", ">word", ...RIGHTS]);
    const user = { username: "gateway", password: "word" };
    const [finding] = await examined(redis.url, SECRET, user);
    expect(finding?.ok).toBe(false);
    expect(finding?.sentence).toMatch(/refuses user gateway .*PING .*TIME .*scripts /);
    await store.command(String(finding?.advice).split(" "));
    const [granted] = await examined(redis.url, SECRET, user);
    expect([granted?.ok, granted?.advice]).toEqual([true, undefined]);
    expect(await store.command(["KEYS", "doctor:doctor:*"])).toEqual([]);
  });

  test("whose user lacks permissions for channels or INFO gets advice", async () => {
    const store = await openedAs();
    const all = [...RIGHTS, "+ping", "+time"];
    const user = { username: "half", password: "word" };
    await store.command(["ACL", "SETUSER", "half", "on", ">word", ...all]);
    const [finding] = await examined(redis.url, SECRET, user);
    expect([finding?.ok, finding?.advice]).toEqual([true, expect.stringContaining("refuses INFO")]);
    await store.command(["ACL", "SETUSER", "half", "resetchannels"]);
    const [deaf] = await examined(redis.url, SECRET, user);
    expect([deaf?.ok, deaf?.sentence]).toEqual([false, expect.stringContaining("PUBLISH and SUBSCRIBE")]);
  });

  test("with eviction, or with clock skew, gets a warning", async () => {
    const store = await openedAs();
    await store.command(["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    const [finding] = await examined(redis.url, SECRET, { now: () => 0 });
    await store.command(["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    expect(finding?.ok).toBe(true);
    expect(finding?.advice).toMatch(/allkeys-lru.*volatile-ttl.*differs by \d{10,} s/);
  });

  test("with an unavailable store reports the reason", async () => {
    const [finding, ...more] = await examined("redis://127.0.0.1:1");
    expect([finding?.about, finding?.ok, finding?.sentence, more]).toEqual([
      "store",
      false,
      expect.stringContaining("ECONNREFUSED"),
      [],
    ]);
  });
});
