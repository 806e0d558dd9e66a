/** Replicas of one cluster in the process of a test, over a store in memory and real listeners. */

import { SILENT } from "../../../src/core/logger.js";
import type { SharedStore } from "../../../src/core/shared-store.js";
import { AuthenticatedValues } from "../../../src/features/cluster/authenticated-values.js";
import { openReplica } from "../../../src/features/cluster/feature.js";
import { openCluster } from "../../../src/features/cluster/open-cluster.js";
import { PeerKey } from "../../../src/features/cluster/peer-key.js";
import { createGateway, type Gateway } from "../../../src/gateway/gateway.js";
import type { GatewayOptions } from "../../../src/gateway/parts.js";
import { openedFeatures } from "../../support/features.js";
import { configOf, listening } from "../../support/gateway.js";
import { MemoryStore, type ScriptInMemory } from "./memory-store.js";

export const SECRET = "a secret of all replicas, 32 long";

/** What replicas with this secret believe of the store. */
export const storedValues = new AuthenticatedValues(new PeerKey(SECRET), "cardea");

/** The scripts of the directory, in memory. */
const DIRECTORY_SCRIPTS: Readonly<Record<string, ScriptInMemory>> = {
  "replicas.beat"(memory, _keys, [id = "", info = "", ttl = "0"]) {
    const added = info !== "" && memory.get(`replica ${id}`) === undefined ? 1 : 0;
    if (info !== "") memory.set(`replica ${id}`, info, Number(ttl));
    const all = memory
      .keys()
      .filter((key) => key.startsWith("replica "))
      .flatMap((key) => [key.slice("replica ".length), memory.get(key) ?? ""]);
    return [added, ...all];
  },
  "replicas.leave": (memory, _keys, [id = ""]) => memory.delete(`replica ${id}`),
};

/** The scripts of records of sessions, in memory: the owner, and the record. */
const SESSION_SCRIPTS: Readonly<Record<string, ScriptInMemory>> = {
  "session.write"(memory, [key = ""], [own = "", record = "", ttl = "0", old = ""]) {
    const [found = own] = read(memory, key);
    const owner = found === old ? own : found;
    if (owner === own) memory.set(key, JSON.stringify([own, record]), Number(ttl));
    return owner;
  },
  "session.renew"(memory, [key = ""], [own = "", ttl = "0"]) {
    const [owner, record] = read(memory, key);
    if (owner === own) memory.set(key, JSON.stringify([owner, record]), Number(ttl));
    return owner ?? "";
  },
  "session.read"(memory, [key = ""]) {
    const [owner = null, record = null] = read(memory, key);
    return [owner, record];
  },
  "session.pass"(memory, [key = ""], [from = "", to = "", ttl = "0"]) {
    const [owner, record] = read(memory, key);
    if (owner !== from) return owner ?? "";
    memory.set(key, JSON.stringify([to, record]), Number(ttl));
    return to;
  },
  "session.remove"(memory, [key = ""], [own = ""]) {
    if (read(memory, key)[0] === own) memory.delete(key);
    return 0;
  },
};

/** What is sealed in a value of the store, unchecked. */
const sealedText = (value: string | undefined): string =>
  /^2\.\d+\.[\w-]+\.(.*)$/s.exec(value ?? "")?.[1] ?? "";

/** The URL of the listener for replicas that this one has registered. */
export const peerUrlOf = (memory: MemoryStore, id: string): string =>
  (JSON.parse(sealedText(memory.get(`replica ${id}`)) || "{}") as { url: string }).url;

const read = (memory: MemoryStore, key: string): readonly string[] =>
  JSON.parse(memory.get(key) ?? "[]") as readonly string[];

export const memoryStore = (scripts: Readonly<Record<string, ScriptInMemory>> = {}): MemoryStore =>
  new MemoryStore({ ...DIRECTORY_SCRIPTS, ...SESSION_SCRIPTS, ...scripts });

export interface Replica {
  readonly id: string;
  readonly gateway: Gateway;
  /** Whether it finds the replica with this id; one that it does not know it looks up in the store, before its next heartbeat. */
  finds(id: string): Promise<boolean>;
  /** The process is suspended for this time (ms): its clock continues, and nothing of it runs. */
  stall(ms: number): void;
  readonly url: string;
  readonly admin: string;
}

/** Starts a replica with this config, whose part `cluster` is filled in. */
export async function startReplica(
  store: SharedStore,
  file: object,
  cluster: object = {},
  options: Partial<GatewayOptions> = {},
): Promise<Replica> {
  const config = configOf({
    listen: { http: { port: 0 }, admin: { port: 0 } },
    keys: { state: SECRET },
    cluster: { store: { url: "redis://in-memory" }, peers: { listen: "127.0.0.1:0" }, ...cluster },
    ...file,
  });
  const section = config.features.cluster;
  if (section === undefined) throw new Error("no cluster");
  let stalledMs = 0;
  const parts = await openCluster({
    config: section,
    secret: SECRET,
    version: "0.0.0-test",
    logger: SILENT,
    store,
    now: () => performance.now() + stalledMs,
  });
  const gateway = createGateway(config, {
    logger: SILENT,
    version: "0.0.0-test",
    ...options,
    features: [
      ...(await openedFeatures(config, {}, ["admin"])),
      ...(options.features ?? (await openedFeatures(config, {}, ["policy"]))),
      openReplica(SECRET, parts),
    ],
  });
  const { url, adminUrl } = await listening(gateway);
  const stall = (ms: number): void => {
    stalledMs += ms;
  };
  const finds = async (id: string): Promise<boolean> => (await parts.directory.find(id)) !== undefined;
  return { id: parts.id, gateway, url, admin: adminUrl, stall, finds };
}

/** Resolves when each of the replicas knows the others. @throws Error if one has not registered */
export async function introduce(replicas: readonly Replica[]): Promise<void> {
  for (const each of replicas)
    for (const { id } of replicas)
      if (id !== each.id && !(await each.finds(id))) throw new Error(`${each.id} does not find ${id}`);
}
