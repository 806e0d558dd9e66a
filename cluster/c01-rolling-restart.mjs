/**
 * C1: every replica is replaced while hosts of both eras call, answer questions, receive progress and follow a page.
 */
import { pause, row } from "../faults/support/row.mjs";
import {
  checkFollowers,
  checkLedger,
  checkNoFailure,
  checkQuestions,
  checkSessions,
} from "./support/checks.mjs";
import { startCluster } from "./support/cluster.mjs";
import { startLoad } from "./support/load.mjs";
import { roll } from "./support/roll.mjs";

await row("C1", "rolling restart of three replicas under load", async (row) => {
  const cluster = await startCluster(row);
  const load = row.own(await startLoad(cluster.url));
  await pause(1_500);
  const exits = await roll(cluster);
  await pause(1_500);
  await checkFollowers(row, cluster, load);
  const tally = await load.finish();
  checkNoFailure(row, tally);
  checkSessions(row, tally);
  checkQuestions(row, tally);
  await checkLedger(row, cluster.ledger, tally);
  const codes = exits.map(({ code, signal }) => code ?? signal);
  row.check(
    "exit codes",
    "0, 0, 0",
    codes.join(", "),
    codes.every((code) => code === 0),
  );
  row.note(`the replicas took ${exits.map(({ ms }) => `${(ms / 1000).toFixed(1)} s`).join(", ")} to end`);
  const adopted = await cluster.sum("cardea_cluster_adoptions_total");
  row.note(`adoptions counted by the replicas that ran at the end: ${adopted}`);
});
