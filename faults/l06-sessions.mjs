/** L6: sessions of older hosts come and go, and nothing of them stays. */

import { newAgent, openHost, textOf } from "../test/support/host/host.mjs";
import { NOT_OPTIMIZING, startGateway } from "./support/gateway.mjs";
import { line, mib, row } from "./support/row.mjs";
import { stdioServer } from "./support/servers.mjs";

/** Ten minutes at 200 each second, which is what the aim speaks of. */
const TEN_MINUTES = 120_000;
/** More than there is room for in any cache that knows clients by name (10,000 entries), so that all of them are full. */
const WARM_UP = 11_000;
/** Enough rounds for V8 to discard unused code. */
const SETTLING = 8;
const AT_ONCE = 24;

await row("L6", "1,000 open sessions, and 200 or more per second opened, used and ended", async (row) => {
  const gateway = row.own(
    await startGateway({ mcpServers: { pipe: stdioServer() } }, { probe: true, nodeFlags: NOT_OPTIMIZING }),
  );
  await gateway.met("pipe");
  const agent = newAgent();
  const standing = await Promise.all(
    Array.from({ length: 1_000 }, () => openHost(gateway.url, "legacy", { agent })),
  );
  let ended = 0;
  let failed = 0;
  const one = async () => {
    try {
      const host = await openHost(gateway.url, "legacy", { agent });
      const { message } = await host.call("pipe__echo", { text: host.session });
      if (textOf(message) !== host.session) failed += 1;
      await host.close();
      ended += 1;
    } catch {
      failed += 1;
    }
  };
  /** Opens this number of sessions, a few at a time. */
  const churn = async (count) => {
    let left = count;
    const next = async () => {
      while (left > 0) {
        left -= 1;
        await one();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
  };

  const warmUp = row.quick ? 2_000 : WARM_UP;
  const [rounds, each] = row.quick ? [5, 500] : [20, 1_000];
  await churn(warmUp);
  for (let round = 0; round < SETTLING; round += 1) {
    await churn(each);
    await gateway.objectsMiB();
  }
  const points = [[0, await gateway.objectsMiB()]];
  const begun = performance.now();
  for (let round = 1; round <= rounds; round += 1) {
    await churn(each);
    points.push([round * each, await gateway.objectsMiB()]);
  }
  const rate = (rounds * each) / ((performance.now() - begun) / 1000);
  const all = warmUp + (SETTLING + rounds) * each;
  row.check(
    "sessions opened, used and ended",
    `${all}, none failed`,
    `${ended}, ${failed} failed`,
    ended === all,
  );
  row.timing("of those each second", ">= 200", Math.round(rate), rate >= 200);
  const sessions = await gateway.metric("cardea_sessions", { era: "legacy" });
  row.check("sessions left", 1000, sessions, sessions === 1000);
  const { slope, error } = line(points);
  const inTenMinutes = (each) => `${(each * TEN_MINUTES).toFixed(2)} MiB`;
  const figure = `${inTenMinutes(slope)} ± ${inTenMinutes(error)} (${mib(points[0][1])} to ${mib(points.at(-1)[1])} over ${rounds * each} sessions)`;
  if (row.quick) row.note(`heap in 10 min: ${figure}; so few sessions say little of a slope`);
  else {
    row.check("heap without compiled code, in 10 min at 200/s", "< + 1 MiB", figure, slope * TEN_MINUTES < 1);
    row.note(
      `heap is measured after collections, every ${each} sessions, after ${warmUp + SETTLING * each} sessions that fill every cache, while V8 does not optimize (its lists of optimized code grow for minutes); ± is the standard error of the slope`,
    );
  }
  const { message } = await standing[500].call("pipe__echo", { text: "still here" });
  row.check(
    "a session that was open all the time",
    "serves",
    textOf(message),
    textOf(message) === "still here",
  );
});
