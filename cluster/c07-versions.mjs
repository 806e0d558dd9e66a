/** C7: replicas of an earlier version are replaced one by one by this one, and the other way round. `--other=COMMIT` names it. */
import { MAIN } from "../faults/support/gateway.mjs";
import { pause, row } from "../faults/support/row.mjs";
import { checkLedger, checkNoFailure, checkQuestions, checkSessions } from "./support/checks.mjs";
import { startCluster } from "./support/cluster.mjs";
import { startLoad } from "./support/load.mjs";
import { roll } from "./support/roll.mjs";
import { buildVersion, earlierVersion } from "./support/version.mjs";

const given = process.argv.find((word) => word.startsWith("--other="))?.slice("--other=".length);

await row(
  "C7",
  "two versions side by side: three replicas of an earlier one are replaced, and back",
  async (row) => {
    const commit = given ?? earlierVersion();
    if (commit === undefined) return row.skip("there is no earlier version that knows `cluster`");
    const earlier = row.own(buildVersion(commit));
    row.note(`the earlier version is ${commit}`);
    const cluster = await startCluster(row, { versions: [earlier.main, earlier.main, earlier.main] });
    const load = row.own(await startLoad(cluster.url));
    await pause(1_000);
    await roll(cluster, { versions: [MAIN, MAIN, MAIN] });
    const there = await load.window();
    checkNoFailure(row, there, "failed calls on the way to this version");
    await roll(cluster, { versions: [earlier.main, earlier.main, earlier.main] });
    await pause(1_000);
    const tally = await load.finish();
    checkNoFailure(row, tally, "failed calls in all, the way back included");
    checkSessions(row, tally);
    checkQuestions(row, tally);
    await checkLedger(row, cluster.ledger, tally);
  },
);
