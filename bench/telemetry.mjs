/**
 * `node bench/telemetry.mjs [ROUNDS]`: the cost of what people switch on, as ratios of rounds in one run: gateways with nothing, with
 * keys, rules and limits, with all calls traced, with none sampled, with the audit log, with traces and audit log, and with nothing again, whose ratio
 * shows the noise. Four processes of each. Exits non-zero if keys, rules and limits cost more than 10 % of the throughput, traces more than 8 %,
 * the audit log more than 6 %, or both more than 12 %.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createMeasure } from "./measure.mjs";
import { printed, start, stopAll } from "./processes.mjs";
import { cardea, httpUpstream } from "./targets.mjs";
import { GUARDED, KEY } from "./work/calls.mjs";

const MAX_COST = { guarded: 0.1, tracing: 0.08, audit: 0.06, both: 0.12 };
/** Two processes of the same program may differ by a tenth for their lifetime. */
const PROCESSES = 4;
const JOB = { era: "modern", sessions: 16, work: "echo", tool: "echo" };

const rounds = Number(process.argv[2] ?? 24);
const measure = createMeasure({ roundSeconds: 0.6, rounds, again: 40, seconds: 1.5, warmSeconds: 0.5 });
const folder = mkdtempSync(join(tmpdir(), "cardea-bench-telemetry-"));
try {
  const upstream = await httpUpstream();
  const [port] = await printed(start(1, ["servers/collector.mjs"]), "stdout", /^\d+$/);
  const servers = { echo: { type: "http", url: upstream.url, prefix: "" } };
  const traced = (sampling) => ({ telemetry: { otlp: { endpoint: `http://127.0.0.1:${port}`, sampling } } });
  const audited = (name) => ({ audit: { file: join(folder, `${name}.jsonl`), required: true } });
  let seen;
  let targets = {};
  for (let n = 1; n <= PROCESSES; n += 1) {
    targets = {
      off: await cardea(servers),
      guarded: { ...(await cardea(servers, GUARDED)), key: KEY },
      tracing: await cardea(servers, traced(1)),
      unsampled: await cardea(servers, traced(0)),
      audit: await cardea(servers, audited(`audit-${n}`)),
      both: await cardea(servers, { ...traced(1), ...audited(`both-${n}`) }),
      "off again": await cardea(servers),
    };
    seen = await measure.interleave(targets, JOB, { before: seen, share: PROCESSES });
    for (const target of Object.values(targets)) await target.stop();
  }
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
  const isDear = Object.entries(MAX_COST).some(([name, most]) => 1 - share(name, "perSecond") > most);
  if (isDear || kept.length === 0 || measure.notes.errors > 0) process.exitCode = 1;
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
