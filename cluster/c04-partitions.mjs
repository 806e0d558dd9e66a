/** C4: a replica on a machine of its own is cut off from the store, then from the other replicas. */
import { pause, row } from "../faults/support/row.mjs";
import { checkLedger, checkNoFailure, checkOwners, checkSessions } from "./support/checks.mjs";
import { startCluster } from "./support/cluster.mjs";
import { now, startLoad, words } from "./support/load.mjs";
import { withoutMachines } from "./support/machines.mjs";

const GRACE_MS = 4_000;
/** `overloaded`: it has not run, and may be sent again. */
const CLEAR = new Set(["outcome_unknown", "upstream_unavailable", "overloaded"]);

await row(
  "C4",
  "partition of one of three replicas, from the store only and from the peers only",
  async (row) => {
    const missing = withoutMachines();
    if (missing !== undefined) return row.skip(missing);
    const cluster = await startCluster(row, { apart: true });
    const { net, replicas } = cluster;
    const [one, ...others] = replicas.map(({ machine }) => machine);
    const load = row.own(await startLoad(cluster.url));
    await pause(3_000);

    const storeAt = now();
    const heal = net.part(one, [net.store]);
    await pause(15_000);
    const up = await replicas[0].metric("cardea_cluster_store_up");
    row.check("cardea_cluster_store_up of the one without the store", 0, up, up === 0);
    heal();
    const storeBack = now();
    await pause(8_000);
    row.check(
      "and afterwards",
      1,
      await replicas[0].metric("cardea_cluster_store_up"),
      (await replicas[0].metric("cardea_cluster_store_up")) === 1,
    );
    const fromStore = (await load.window()).within(storeAt, storeBack + GRACE_MS);
    judge("from the store", fromStore, storeAt);

    const peersAt = now();
    const heals = [
      net.part(
        one,
        others.map(({ host }) => host),
      ),
      ...others.map((other) => net.part(other, [one.host])),
    ];
    await pause(15_000);
    for (const mend of heals) mend();
    const peersBack = now();
    await pause(8_000);
    const sessions = await load.sessions();
    await checkOwners(row, cluster, sessions.length + 1);
    const tally = await load.finish();
    judge("from the peers", tally.within(peersAt, peersBack + GRACE_MS), peersAt);
    checkNoFailure(
      row,
      tally.since(peersBack + GRACE_MS),
      "failed calls from 4 s after the second partition",
    );
    checkSessions(row, tally);
    await checkLedger(row, cluster.ledger, tally);

    function judge(what, part, cutAt) {
      // An answer that was under way over the cut connection cannot end with a word: its host has half of it.
      const isHalf = ({ error, at }) => error === "ECONNRESET" && at <= cutAt;
      const unclear = part.failed.filter((sample) => !CLEAR.has(sample.error) && !isHalf(sample));
      row.check(
        `cut off ${what}: failures that are not one clear word`,
        0,
        `${unclear.length} of ${part.sent} calls; all failures: ${words(part.errors)}`,
        unclear.length === 0,
      );
    }
  },
);
