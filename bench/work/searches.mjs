/** What calls of other hosts notice of a host that searches in 10,000 tools: their p99 beside the p99 without it, by turns. */
import { setTimeout as wait } from "node:timers/promises";
import { openHost } from "../hosts.mjs";
import { median } from "../measure.mjs";
import { cardea, httpServers, httpUpstream } from "../targets.mjs";

const SERVERS = 10;
const TOOLS_EACH = 997;
const PAIRS = 8;
/** The interval of searches in ms: twenty a second, like a hundred agents. */
const EVERY_MS = 50;

/** Resolves to `{ quiet, busy, ratio, searches }`: medians of the p99 (ms) of each pair of rounds. */
export async function callsBesideSearches(measure, queries) {
  const parts = await httpUpstream({ tools: TOOLS_EACH });
  const gateway = await cardea(httpServers(parts, SERVERS), { tools: { exposure: "search" } });
  const searching = await openHost(gateway.url, "legacy");
  const search = async (at) => {
    const query = queries[at % queries.length];
    const { result, error } = await searching.request("tools/call", {
      name: "find_tools",
      arguments: { query },
    });
    if (result?.structuredContent?.tools === undefined) throw new Error(JSON.stringify(error ?? result));
  };
  for (let at = 0; at < 100; at += 1) await search(at);
  const job = { era: "modern", sessions: 4, seconds: 2, work: "echo", tools: ["s0__echo"] };
  await measure.once(gateway, job);
  const pairs = [];
  let searches = 0;
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const quiet = await measure.once(gateway, job);
    let isOver = false;
    const others = (async () => {
      for (; !isOver; searches += 1) await Promise.all([search(searches), wait(EVERY_MS)]);
    })();
    const busy = await measure.once(gateway, job);
    isOver = true;
    await others;
    pairs.push({ quiet: quiet.p99, busy: busy.p99, ratio: busy.p99 / quiet.p99 });
  }
  await searching.close();
  for (const target of [gateway, parts]) await target.stop();
  const of = (figure) => median(pairs.map((pair) => pair[figure]));
  return { quiet: of("quiet"), busy: of("busy"), ratio: of("ratio"), searches };
}
