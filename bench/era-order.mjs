/**
 * `node bench/era-order.mjs [ROUNDS]`: whether modern hosts are served as fast after legacy ones in the same process. Ratios of rounds in
 * one run: a gateway that has served modern hosts only, one that has served legacy hosts before, and one more of the first kind,
 * whose ratio shows what the run can tell. Exits non-zero where more than 5 % is lost.
 */
import { createMeasure } from "./measure.mjs";
import { stopAll } from "./processes.mjs";
import { cardea, httpUpstream } from "./targets.mjs";

const MAX_LOSS = 0.05;
const rounds = Number(process.argv[2] ?? 15);
const JOB = { sessions: 16, work: "echo", tool: "echo" };
const measure = createMeasure({ roundSeconds: 0.6, rounds, again: 40, seconds: 4, warmSeconds: 0.5 });
try {
  const upstream = await httpUpstream();
  const servers = { echo: { type: "http", url: upstream.url, prefix: "" } };
  const targets = {
    "modern hosts only": await cardea(servers),
    "after legacy hosts": await cardea(servers),
    "modern hosts only, again": await cardea(servers),
  };
  // As long as the others serve modern hosts before they are measured.
  await measure.once(targets["modern hosts only"], { era: "modern", ...JOB });
  await measure.once(targets["after legacy hosts"], { era: "legacy", ...JOB });
  await measure.once(targets["modern hosts only, again"], { era: "modern", ...JOB });
  const seen = await measure.interleave(targets, { era: "modern", ...JOB });
  const share = (name, figure) => seen.against(name, "modern hosts only", figure);
  const percent = (ratio) => `${((ratio - 1) * 100).toFixed(1)} %`;
  for (const name of Object.keys(targets)) {
    const { perSecond, p50, cpuUs } = seen[name];
    console.log(
      `${name}: ${perSecond.toFixed(0)} calls/s (${percent(share(name, "perSecond"))}), p50 ${p50.toFixed(2)} ms, ${cpuUs.toFixed(0)} us of processor a call (${percent(share(name, "cpuUs"))})`,
    );
  }
  const { kept, worse } = seen;
  console.log(`${kept.length} calm rounds, ${worse.length} disturbed; errors ${measure.notes.errors}`);
  if (kept.length === 0) console.error("no calm round: these figures show nothing");
  const isSlower = share("after legacy hosts", "perSecond") < 1 - MAX_LOSS;
  if (isSlower || kept.length === 0 || measure.notes.errors > 0) process.exitCode = 1;
} finally {
  await stopAll();
}
