/** C6: Redis is failed over by Sentinel; HAProxy leads to whichever is the master. */
import { pause, row, until } from "../faults/support/row.mjs";
import { checkLedger, checkNoFailure, checkQuestions, checkSessions } from "./support/checks.mjs";
import { startCluster } from "./support/cluster.mjs";
import { startMasterAddress } from "./support/haproxy.mjs";
import { startLoad } from "./support/load.mjs";
import { startRedis, startSentinel } from "./support/redis.mjs";

await row(
  "C6",
  "the master of Redis is killed, and Sentinel makes its replica the master, under load",
  async (row) => {
    const master = row.own(await startRedis());
    const second = row.own(await startRedis({ replicaOf: master }));
    const sentinel = row.own(await startSentinel(master));
    await until("Sentinel to know the replica", async () => (await sentinel.replicas()) === 1, 20_000, 100);
    const address = row.own(await startMasterAddress([master, second]));
    const limits = [{ tools: ["*"], rate: "5000/s", burst: 5000, per: "principal" }];
    const cluster = await startCluster(row, { store: address.url, config: { limits } });
    const load = row.own(await startLoad(cluster.url));
    await pause(2_000);
    await master.kill();
    const { ms } = await until(
      "the failover",
      async () => (await sentinel.master()) === second.port,
      30_000,
      100,
    );
    row.note(`Sentinel took ${(ms / 1000).toFixed(1)} s`);
    await until(
      "the store to be up",
      async () => (await cluster.sum("cardea_cluster_store_up")) === 3,
      20_000,
      50,
    );
    await cluster.known();
    await pause(4_000);
    const tally = await load.finish();
    checkNoFailure(row, tally);
    checkQuestions(row, tally);
    checkSessions(row, tally);
    await checkLedger(row, cluster.ledger, tally);
  },
);
