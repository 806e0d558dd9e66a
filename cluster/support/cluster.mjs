/** Replicas, the store, the balancer in front, and the ledger behind them. */
import { fileURLToPath } from "node:url";
import { start } from "../../faults/support/processes.mjs";
import { until } from "../../faults/support/row.mjs";
import { startBalancer } from "./haproxy.mjs";
import { startMachines } from "./machines.mjs";
import { startRedis } from "./redis.mjs";
import { startRelay } from "./relay.mjs";
import { startReplica } from "./replica.mjs";

const LEDGER = fileURLToPath(new URL("../upstream/main.mjs", import.meta.url));

/** The server with the ledger as a process: the URLs of each era, `entries` for `mcpServers`, and what ran. */
export async function startLedger(host = "127.0.0.1") {
  const program = start(process.execPath, [LEDGER, host]);
  const urls = await new Promise((resolve, reject) => {
    program.child.stdout.once("data", (text) => resolve(JSON.parse(text)));
    void program.exited.then(() => reject(new Error(`the ledger ended: ${program.stderr}`)));
  });
  return {
    urls,
    entries: {
      old: { type: "http", url: urls.legacy, protocol: "legacy" },
      new: { type: "http", url: urls.modern, protocol: "modern" },
    },
    /** Times of each run by key. */
    async runs() {
      return new Map((await (await fetch(urls.control)).json()).runs);
    },
    /** Announces an update of the page. */
    turn: () => fetch(urls.control, { method: "POST" }),
    pid: program.pid,
    stop: () => program.stop(),
  };
}

/**
 * Starts all of it and waits until the replicas know each other.
 * @param row whose end is the end of everything
 * @param {object} options
 *   `count` of replicas (3); `config`: more of the config, or what makes it of the ledger; `cluster`: more of that section, or `false` for replicas that know nothing
 *   of each other; `apart`: each replica on a machine of its own; `relay`: each has a relay of its own to the store; `store`: the URL
 *   of a store that is there already; `versions`: programs, one for each replica; `probe`; `sticky`; `balancer` (true)
 */
export async function startCluster(row, options = {}) {
  const {
    count = 3,
    config = {},
    cluster = {},
    apart = false,
    relay = false,
    versions = [],
    probe = false,
  } = options;
  const net = apart ? row.own(startMachines(count)) : undefined;
  const ledger = row.own(await startLedger(net?.host));
  const redis =
    cluster === false || options.store !== undefined
      ? undefined
      : row.own(await startRedis({ host: net?.store }));
  const more = typeof config === "function" ? config(ledger, ledger.entries) : config;
  const replicas = [];
  for (let i = 0; i < count; i += 1) {
    const machine = net?.machines[i];
    const through =
      relay && redis !== undefined ? row.own(await startRelay(redis, { host: net?.store })) : undefined;
    const url =
      through === undefined ? (options.store ?? redis?.url) : `redis://${through.host}:${through.port}`;
    const shared = cluster === false ? {} : { cluster: { store: { url }, ...cluster } };
    const replica = await startReplica(
      { mcpServers: ledger.entries, ...more, ...shared },
      { host: machine?.host, command: machine?.command, main: versions[i], probe },
    );
    replicas.push(row.own(Object.assign(replica, { machine, relay: through })));
  }
  await Promise.all(replicas.map((replica) => replica.start()));
  const formed = async (many) => {
    for (const replica of replicas.filter(({ program }) => program.exit === undefined)) {
      await until(
        `${many} replicas to know each other`,
        async () => (await replica.metric("cardea_cluster_replicas")) === many,
        20_000,
        50,
      );
    }
  };
  if (cluster !== false) await formed(count);
  const balancer = options.balancer === false ? undefined : row.own(await startBalancer(replicas, options));
  return {
    replicas,
    ledger,
    redis,
    net,
    balancer,
    url: balancer?.url,
    /** Resolves when all that run know of each other; at once where they never do. */
    known: () =>
      cluster === false
        ? undefined
        : formed(replicas.filter(({ program }) => program.exit === undefined).length),
    /** Sum of a metric over the replicas that run. */
    async sum(name, labels) {
      const running = replicas.filter(({ program }) => program.exit === undefined);
      const all = await Promise.all(running.map((one) => one.metric(name, labels)));
      return all.reduce((total, value) => total + (value ?? 0), 0);
    },
  };
}
