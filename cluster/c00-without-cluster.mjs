/** C0: several gateways that know nothing of each other, as a base: hosts of 2026-07-28 need no more. */
import { pause, row } from "../faults/support/row.mjs";
import { checkLedger, checkNoFailure, checkQuestions } from "./support/checks.mjs";
import { startCluster } from "./support/cluster.mjs";
import { startLoad } from "./support/load.mjs";
import { roll } from "./support/roll.mjs";

await row(
  "C0",
  "rolling restart of three gateways without `cluster`, modern hosts and servers",
  async (row) => {
    const cluster = await startCluster(row, { cluster: false });
    const load = row.own(
      await startLoad(cluster.url, { legacy: 0, modern: 12, sdk: false, servers: ["new"] }),
    );
    await pause(1_000);
    const exits = await roll(cluster);
    await pause(1_000);
    const tally = await load.finish();
    checkNoFailure(row, tally);
    checkQuestions(row, tally);
    await checkLedger(row, cluster.ledger, tally);
    const codes = exits.map(({ code, signal }) => code ?? signal);
    row.check(
      "exit codes",
      "0, 0, 0",
      codes.join(", "),
      codes.every((code) => code === 0),
    );
  },
);
