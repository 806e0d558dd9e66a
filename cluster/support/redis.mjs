/** Redis and its Sentinel as processes of a case, and a client that asks them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@redis/client";
import { start } from "../../faults/support/processes.mjs";
import { until } from "../../faults/support/row.mjs";
import { freePort, programs } from "./debian.mjs";

/**
 * @param {{ host?: string, port?: number, replicaOf?: { host: string, port: number } }} options
 * @returns its URL, `command(...words)`, and `stop`; `kill()` and `again()` end it and start it on the same port
 */
export async function startRedis({ host = "127.0.0.1", port, replicaOf } = {}) {
  const { "redis-server": path } = programs("redis-server");
  const folder = mkdtempSync(join(tmpdir(), "cardea-redis-"));
  const own = port ?? (await freePort(host));
  const following = replicaOf === undefined ? [] : ["--replicaof", replicaOf.host, String(replicaOf.port)];
  const flags = [
    "--save",
    "",
    "--appendonly",
    "no",
    "--maxmemory-policy",
    "noeviction",
    "--protected-mode",
    "no",
  ];
  const self = { host, port: own, url: `redis://${host}:${own}` };
  const run = async () => {
    self.program = start(path, [
      "--bind",
      host,
      "--port",
      String(own),
      "--dir",
      folder,
      ...flags,
      ...following,
    ]);
    await until("Redis", () => accepts(self), 10_000);
  };
  await run();
  /** By one connection that is opened for it: it works after any fault. */
  self.command = async (...words) => {
    const client = await connected(self.url);
    try {
      return await client.sendCommand(words.map(String));
    } finally {
      client.destroy();
    }
  };
  self.kill = async () => void (await self.program.stop("SIGKILL"));
  self.again = run;
  self.stop = async () => {
    self.program.child.kill("SIGCONT");
    await self.program.stop("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  return self;
}

async function connected(url) {
  const client = createClient({ url, socket: { connectTimeout: 2_000, reconnectStrategy: false } });
  client.on("error", () => {});
  await client.connect();
  return client;
}

async function accepts({ url }) {
  try {
    const client = await connected(url);
    const pong = await client.ping();
    client.destroy();
    return pong === "PONG";
  } catch {
    return false;
  }
}

/** How often scripts ran since the start of this Redis, of all clients together. */
export async function scriptCalls(redis) {
  const text = String(await redis.command("INFO", "commandstats"));
  const counts = [...text.matchAll(/^cmdstat_(?:eval|evalsha|evalsha_ro|fcall):calls=(\d+)/gm)];
  return counts.reduce((sum, [, calls]) => sum + Number(calls), 0);
}

/** A Sentinel that watches `master` and decides alone. `master()` is the port of the one it takes for it now. */
export async function startSentinel(master) {
  const { "redis-sentinel": path } = programs("redis-sentinel");
  const folder = mkdtempSync(join(tmpdir(), "cardea-sentinel-"));
  const port = await freePort();
  const file = join(folder, "sentinel.conf");
  const lines = [
    `port ${port}`,
    "bind 127.0.0.1",
    `dir ${folder}`,
    `sentinel monitor main ${master.host} ${master.port} 1`,
    "sentinel down-after-milliseconds main 1000",
    "sentinel failover-timeout main 5000",
  ];
  writeFileSync(file, `${lines.join("\n")}\n`);
  const program = start(path, [file]);
  const url = `redis://127.0.0.1:${port}`;
  await until("Sentinel", () => accepts({ url }), 10_000);
  return {
    async master() {
      const client = await connected(url);
      const [, found] = await client.sendCommand(["SENTINEL", "get-master-addr-by-name", "main"]);
      client.destroy();
      return Number(found);
    },
    /** How many replicas of the master it knows. */
    async replicas() {
      const client = await connected(url);
      const found = await client.sendCommand(["SENTINEL", "replicas", "main"]);
      client.destroy();
      return found.length;
    },
    async stop() {
      await program.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
