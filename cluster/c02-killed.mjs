/** C2: `kill -9` of one of three replicas. */
import { pause, row } from "../faults/support/row.mjs";
import {
  checkFollowers,
  checkInFlight,
  checkLedger,
  checkRecovery,
  checkSessions,
} from "./support/checks.mjs";
import { startCluster } from "./support/cluster.mjs";
import { now, startLoad } from "./support/load.mjs";

await row("C2", "`kill -9` of one of three replicas under load", async (row) => {
  const cluster = await startCluster(row);
  const load = row.own(await startLoad(cluster.url));
  await pause(3_000);
  const killedAt = now();
  await cluster.replicas[1].kill();
  await pause(15_000);
  await checkFollowers(row, cluster, load);
  const tally = await load.finish();
  checkInFlight(row, tally, killedAt);
  checkRecovery(row, tally, killedAt, 2_000);
  checkSessions(row, tally);
  await checkLedger(row, cluster.ledger, tally);
});
