/** Replicas of one cluster in the process of a test, over a store in memory and real listeners. */
import { openCluster } from "../../src/cluster/open-cluster.js";
import type { SharedStore } from "../../src/core/cluster.js";
import { SILENT } from "../../src/core/logger.js";
import { createGateway, type Gateway } from "../../src/gateway/gateway.js";
import { configOf } from "./gateway.js";
import { MemoryStore, type ScriptInMemory } from "./memory-store.js";

export const SECRET = "a secret of all replicas, 32 long";

/** The scripts of the directory, in memory. */
export const DIRECTORY_SCRIPTS: Readonly<Record<string, ScriptInMemory>> = {
  "replicas.beat"(memory, _keys, [id = "", info = "", ttl = "0"]) {
    if (info !== "") memory.set(`replica ${id}`, info, Number(ttl));
    return memory
      .keys()
      .filter((key) => key.startsWith("replica "))
      .flatMap((key) => [key.slice("replica ".length), memory.get(key) ?? ""]);
  },
  "replicas.leave": (memory, _keys, [id = ""]) => memory.delete(`replica ${id}`),
};

export const memoryStore = (scripts: Readonly<Record<string, ScriptInMemory>> = {}): MemoryStore =>
  new MemoryStore({ ...DIRECTORY_SCRIPTS, ...scripts });

export interface Replica {
  readonly id: string;
  readonly gateway: Gateway;
  readonly url: string;
  readonly admin: string;
}

/** Starts a replica with this config, whose part `cluster` is filled in. */
export async function startReplica(store: SharedStore, file: object, cluster: object = {}): Promise<Replica> {
  const config = configOf({
    listen: { http: { port: 0 }, admin: { port: 0 } },
    keys: { state: SECRET },
    cluster: { store: { url: "redis://in-memory" }, peers: { listen: "127.0.0.1:0" }, ...cluster },
    ...file,
  });
  if (config.cluster === undefined) throw new Error("no cluster");
  const parts = await openCluster({
    config: config.cluster,
    secret: SECRET,
    version: "0.0.0-test",
    logger: SILENT,
    store,
  });
  const gateway = createGateway(config, { logger: SILENT, version: "0.0.0-test", cluster: parts });
  const { url, adminUrl } = await gateway.start();
  return { id: parts.id, gateway, url, admin: adminUrl };
}
