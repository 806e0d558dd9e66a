/** C5: the store is paused, slow, flushed, killed and restarted, under load: calls continue. */
import { pause, row, until } from "../faults/support/row.mjs";
import { checkLedger, checkNoFailure, checkQuestions, checkSessions } from "./support/checks.mjs";
import { startCluster } from "./support/cluster.mjs";
import { startLoad } from "./support/load.mjs";

/** Far above the load: nothing of it is refused, and every call counts. */
const LIMITS = [{ tools: ["*"], rate: "5000/s", burst: 5000, per: "principal" }];
const DELAY_MS = 50;

await row(
  "C5",
  "Redis paused for 5 s, 50 ms slow, flushed, killed and started again, under load",
  async (row) => {
    const cluster = await startCluster(row, { relay: true, config: { limits: LIMITS } });
    const { redis, replicas } = cluster;
    const load = row.own(await startLoad(cluster.url));
    await pause(2_000);
    const before = await load.window();
    row.note(`p99 before: ${before.p99.toFixed(0)} ms`);

    redis.program.child.kill("SIGSTOP");
    await pause(5_000);
    redis.program.child.kill("SIGCONT");
    await pause(4_000);
    const paused = await load.window();
    checkNoFailure(row, paused, "failed calls while it was paused for 5 s");
    row.note(`p99 while it was paused: ${paused.p99.toFixed(0)} ms`);

    for (const { relay } of replicas) relay.delayMs = DELAY_MS;
    await pause(6_000);
    const slow = await load.window();
    for (const { relay } of replicas) relay.delayMs = 0;
    checkNoFailure(row, slow, `failed calls while it was ${2 * DELAY_MS} ms away`);
    row.timing(
      "p99 more than before",
      "<= 100 ms",
      `${(slow.p99 - before.p99).toFixed(0)} ms`,
      slow.p99 - before.p99 <= 100,
    );

    await redis.command("FLUSHALL");
    await pause(8_000);
    checkNoFailure(row, await load.window(), "failed calls for 8 s after FLUSHALL");
    const counts = await Promise.all(replicas.map((replica) => replica.metric("cardea_cluster_replicas")));
    row.check(
      "replicas that each knows then",
      "3, 3, 3",
      counts.join(", "),
      counts.every((count) => count === 3),
    );
    const sessions = await load.sessions();
    const keys = await redis.command("KEYS", "*session*");
    row.check(
      "records of sessions then",
      `>= ${sessions.length}`,
      keys.length,
      keys.length >= sessions.length,
    );

    await redis.kill();
    await pause(8_000);
    const ups = await Promise.all(replicas.map((replica) => replica.metric("cardea_cluster_store_up")));
    row.check(
      "cardea_cluster_store_up without it",
      "0, 0, 0",
      ups.join(", "),
      ups.every((up) => up === 0),
    );
    const ready = await Promise.all(replicas.map((replica) => replica.ready()));
    row.check(
      "/readyz without it",
      "200, 200, 200",
      ready.join(", "),
      ready.every((status) => status === 200),
    );
    checkNoFailure(row, await load.window(), "failed calls for 8 s without it");
    await redis.again();
    const { ms } = await until(
      "the store to be up again",
      async () => (await cluster.sum("cardea_cluster_store_up")) === 3,
      20_000,
      50,
    );
    row.note(`taken up again ${(ms / 1000).toFixed(1)} s after it had started`);
    await cluster.known();
    await pause(3_000);
    checkNoFailure(row, await load.window(), "failed calls after it was started again");

    const tally = await load.finish();
    checkQuestions(row, tally);
    checkSessions(row, tally);
    await checkLedger(row, cluster.ledger, tally);
  },
);
