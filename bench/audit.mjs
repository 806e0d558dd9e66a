/**
 * `node bench/audit.mjs`: what the audit log takes of the throughput, as a ratio of rounds in one run: a gateway without it, one
 * with it, and one without it again, whose ratio shows what the run can tell. Exits non-zero above 6 %.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createMeasure } from "./measure.mjs";
import { stopAll } from "./processes.mjs";
import { cardea, httpUpstream } from "./targets.mjs";

const MAX_COST = 0.06;
const rounds = Number(process.argv[2] ?? 15);
const measure = createMeasure({ roundSeconds: 0.6, rounds, again: 40, seconds: 1.5, warmSeconds: 0.5 });
const folder = mkdtempSync(join(tmpdir(), "cardea-bench-audit-"));
try {
  const upstream = await httpUpstream();
  const servers = { echo: { type: "http", url: upstream.url, prefix: "" } };
  const audit = { file: join(folder, "audit.jsonl"), required: true };
  const targets = {
    off: await cardea(servers),
    audit: await cardea(servers, { audit }),
    "off again": await cardea(servers),
  };
  const seen = await measure.interleave(targets, { era: "modern", sessions: 16, work: "echo", tool: "echo" });
  const share = (name, figure) => seen.against(name, "off", figure);
  const percent = (ratio) => `${((ratio - 1) * 100).toFixed(1)} %`;
  for (const name of Object.keys(targets)) {
    const { perSecond, p50, p99, cpuUs } = seen[name];
    console.log(
      `${name}: ${perSecond.toFixed(0)} calls/s (${percent(share(name, "perSecond"))}), p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, ${cpuUs.toFixed(0)} us of processor a call (${percent(share(name, "cpuUs"))})`,
    );
  }
  const { kept, worse } = seen;
  const load = loadavg().map((value) => value.toFixed(1));
  console.log(
    `${kept.length} calm rounds, ${worse.length} disturbed; load ${load.join(" ")}; errors ${measure.notes.errors} ${measure.notes.firstError ?? ""}`,
  );
  if (kept.length === 0) console.error("no calm round: these figures show nothing");
  const isDear = 1 - share("audit", "perSecond") > MAX_COST;
  if (isDear || kept.length === 0 || measure.notes.errors > 0) process.exitCode = 1;
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
