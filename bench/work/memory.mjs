/** P9: what the gateway holds in memory: idle, under load, with many sessions, and for each stream that is open. */
import { setTimeout as wait } from "node:timers/promises";
import { within } from "../goals.mjs";
import { openStreams, rssMiB } from "../processes.mjs";
import { cardea, httpServers, httpUpstream, toolOfEach } from "../targets.mjs";

const SERVERS = 10;
const STREAMS = 4000;

export async function* memory({ measure, quick }) {
  const upstream = await httpUpstream({ tools: 20 });
  const servers = httpServers(upstream, SERVERS);
  const gateway = await cardea(servers);
  await wait(2000);
  yield resident(`idle with ${SERVERS} upstreams`, rssMiB(gateway.pids), 80, 110);
  const tools = toolOfEach(SERVERS);
  for (const [sessions, goal, floor] of quick
    ? [[64, 130, 200]]
    : [
        [64, 130, 200],
        [500, 140, 220],
      ]) {
    const { rss, perSecond } = await measure.once(gateway, { era: "legacy", sessions, tools });
    yield resident(`${sessions} sessions under load`, rss, goal, floor, `${Math.round(perSecond)} calls/s`);
  }
  await gateway.stop();
  for (const era of quick ? [] : ["modern", "legacy"]) yield await streams(servers, era);
  await upstream.stop();
}

async function streams(servers, era) {
  const gateway = await cardea(servers);
  // The first few pay for what all of them need.
  const first = await openStreams(gateway, { era, streams: 100 });
  await wait(1000);
  const before = rssMiB(gateway.pids);
  const many = await openStreams(gateway, { era, streams: STREAMS });
  // At rest for this time, it has returned the memory of their opening.
  await wait(10_000);
  const each = ((rssMiB(gateway.pids) - before) * 1024) / STREAMS;
  for (const some of [first, many]) await some.close();
  await gateway.stop();
  const whose = era === "legacy" ? "with its session, legacy" : "modern";
  return within(
    "P9",
    `an idle event stream, ${whose}`,
    [{ value: each, goal: 16, unit: " KiB", digits: 1 }],
    `${STREAMS} of them, opened in ${many.ms.toFixed(0)} ms`,
  );
}

const resident = (work, value, goal, floor, detail = "resident") =>
  within("P9", work, [{ value, goal, floor, unit: " MiB", digits: 0 }], detail);
