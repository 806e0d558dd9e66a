/** Several replicas of the built program with a real Redis, and the server with the ledger (cluster/upstream) behind them. */
import { once } from "node:events";
import { createInterface } from "node:readline";
import { inRepository, type Serving, startServing, writeConfig } from "../../support/cardea.js";
import { JSON_HEADERS, send } from "../../support/http-host.js";
import { start } from "../../support/processes.js";
import { type Redis, startRedis } from "../../support/redis.js";
import { freePort } from "../../support/told-port.js";
import { until } from "../../support/until.js";

export interface Replicas {
  readonly all: readonly Serving[];
  readonly redis: Redis;
  /** How often each tool ran, by the argument `key` of the call. */
  runs(): Promise<ReadonlyMap<string, number>>;
  stop(): Promise<void>;
}

/** Starts `count` replicas, and resolves when they know each other. `rest`: more of their config, of the URL of a modern server. */
export async function startReplicas(
  count: number,
  rest: (url: string) => { readonly mcpServers?: object; readonly [key: string]: unknown } = () => ({}),
): Promise<Replicas> {
  const redis = await startRedis();
  const ledger = start(process.execPath, [inRepository("cluster/upstream/main.mjs")]);
  const [line] = (await once(createInterface({ input: ledger.child.stdout }), "line")) as [string];
  const urls = JSON.parse(line) as Readonly<Record<"legacy" | "modern" | "control", string>>;
  const { mcpServers, ...others } = rest(urls.modern);
  const servers = {
    old: { type: "http", url: urls.legacy, protocol: "legacy" },
    new: { type: "http", url: urls.modern, protocol: "modern" },
    ...mcpServers,
  };
  const one = async (): Promise<Serving> => {
    const peers = { listen: `127.0.0.1:${await freePort()}` };
    const cluster = { store: { url: redis.url }, peers };
    const { file, remove } = writeConfig({
      ...others,
      keys: { state: Buffer.alloc(32, "state").toString("base64") },
      mcpServers: servers,
      cluster,
    });
    return startServing(["serve", "--config", file, "--port", "0", "--admin-port", "0"], remove);
  };
  const all: Serving[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(all.map((replica) => replica.end()));
    await ledger.stop();
    await redis.stop();
  };
  try {
    for (let i = 0; i < count; i += 1) all.push(await one());
    await until("replicas that know each other", async () => {
      const known = await Promise.all(
        all.map(async (replica) => {
          await lookUp(replica);
          return metricOf(replica, "cardea_cluster_replicas");
        }),
      );
      return known.every((number) => number === count);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    all,
    redis,
    async runs() {
      const page = (await (await fetch(urls.control)).json()) as {
        readonly runs: readonly [string, number[]][];
      };
      return new Map(page.runs.map(([key, times]) => [key, times.length]));
    },
    stop,
  };
}

/** A session of no replica: it makes this one read the registrations, instead of at its next heartbeat. */
async function lookUp({ url }: Serving): Promise<void> {
  const headers = { ...JSON_HEADERS, "mcp-session-id": "nobod-00000000-0000-4000-8000-000000000000" };
  await send(url, { headers, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
}

/** The value of a metric without labels; undefined where there is none. */
async function metricOf({ admin }: Serving, name: string): Promise<number | undefined> {
  const text = await (await fetch(`${admin}/metrics`)).text();
  const found = text.split("\n").find((line) => line.startsWith(`${name} `));
  return found === undefined ? undefined : Number(found.slice(name.length + 1));
}
