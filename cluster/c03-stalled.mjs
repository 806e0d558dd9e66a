/** C3: a replica is suspended for 15 s, longer than the others take it for alive, and comes back. */
import { pause, row } from "../faults/support/row.mjs";
import {
  checkFollowers,
  checkLedger,
  checkNoFailure,
  checkOwners,
  checkSessions,
} from "./support/checks.mjs";
import { startCluster } from "./support/cluster.mjs";
import { now, startLoad, words } from "./support/load.mjs";

const STALL_MS = 15_000;
/** For calls that were at the replica, and for the balancer to see it. */
const GRACE_MS = 3_000;

await row("C3", `SIGSTOP of one of three replicas for ${STALL_MS / 1000} s, and back`, async (row) => {
  const cluster = await startCluster(row);
  const load = row.own(await startLoad(cluster.url));
  await pause(3_000);
  const stalledAt = now();
  cluster.replicas[1].signal("SIGSTOP");
  await pause(STALL_MS);
  cluster.replicas[1].signal("SIGCONT");
  const backAt = now();
  await pause(8_000);
  await checkFollowers(row, cluster, load);
  const sessions = await load.sessions();
  await checkOwners(row, cluster, sessions.length + 1);
  const tally = await load.finish();
  const meanwhile = tally.within(stalledAt, backAt + GRACE_MS);
  const unclear = meanwhile.failed.filter(
    ({ error }) => !["outcome_unknown", "upstream_unavailable", "overloaded"].includes(error),
  );
  row.check(
    "failures while it stood that are not one clear word",
    0,
    `${unclear.length}; all failures: ${words(meanwhile.errors)}`,
    unclear.length === 0,
  );
  checkNoFailure(row, tally.since(backAt + GRACE_MS), "failed calls from 3 s after it came back");
  checkSessions(row, tally);
  await checkLedger(row, cluster.ledger, tally);
});
