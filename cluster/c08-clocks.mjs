/** C8: the clocks of two replicas are 5 minutes fast and 5 minutes slow. */
import { pause, row } from "../faults/support/row.mjs";
import {
  checkInFlight,
  checkLedger,
  checkNoFailure,
  checkQuestions,
  checkRecovery,
  checkSessions,
} from "./support/checks.mjs";
import { startCluster } from "./support/cluster.mjs";
import { admitted } from "./support/limits.mjs";
import { now, startLoad } from "./support/load.mjs";

const SKEW_MS = 300_000;
const RATE = 40;
const BURST = 20;

await row("C8", "clocks of two of three replicas 5 min fast and 5 min slow", async (row) => {
  const limits = [{ tools: ["limited__run"], rate: `${RATE}/s`, burst: BURST, per: "all" }];
  const cluster = await startCluster(row, {
    probe: true,
    config: ({ urls }, entries) => ({
      mcpServers: { ...entries, limited: { type: "http", url: urls.modern, protocol: "modern" } },
      limits,
    }),
  });
  cluster.replicas[0].turnClock(SKEW_MS);
  cluster.replicas[1].turnClock(-SKEW_MS);
  const load = row.own(await startLoad(cluster.url));
  const result = await admitted(cluster, {
    server: "limited",
    perSecond: 2 * RATE,
    seconds: 5,
    shares: [1, 1, 1],
  });
  const ceiling = BURST + RATE * result.elapsed;
  row.check(
    "admitted by a limit of all",
    `<= ${Math.floor(ceiling)}`,
    `${result.admitted} of ${result.sent}`,
    result.admitted <= ceiling,
  );
  row.check(
    "and not much less",
    `>= ${Math.floor(ceiling / 2)}`,
    result.admitted,
    result.admitted >= ceiling / 2,
  );
  await pause(8_000);
  const steady = await load.window();
  checkNoFailure(row, steady);
  checkQuestions(row, steady);
  const killedAt = now();
  await cluster.replicas[0].kill();
  await pause(10_000);
  const tally = await load.finish();
  checkInFlight(row, tally, killedAt);
  checkRecovery(row, tally, killedAt, 2_000);
  checkSessions(row, tally);
  await checkLedger(row, cluster.ledger, tally);
});
