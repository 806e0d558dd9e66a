/**
 * P1 on two cores: two workers beside one, with every program free to use either core. Hosts and servers need cores
 * too, so two cores bring little to small calls, whose hosts and servers take as much as the gateway does.
 */
import { cpus } from "node:os";
import { within } from "../goals.mjs";
import { cardea, httpUpstream, passThrough } from "../targets.mjs";

const core = "any";

export async function* workers({ measure }) {
  if (cpus().length < 2) return;
  const upstream = await httpUpstream({ core });
  const ruler = await passThrough(upstream, { core });
  const servers = { echo: { type: "http", url: upstream.url, prefix: "" } };
  const one = await cardea(servers, {}, { core });
  const two = await cardea(servers, {}, { core, flags: ["--workers", "2"] });
  for (const [work, job] of [
    ["tools/call", { sessions: 64 }],
    ["answers of 1 MiB", { sessions: 16, work: "blob", tool: "blob", bytes: 1_048_576 }],
  ]) {
    for (const era of ["legacy", "modern"]) {
      const result = await measure.interleave({ ruler, one, two }, { era, core, ...job });
      const ratio = { value: result.against("two", "one", "perSecond"), goal: 1, atLeast: true, unit: " ×" };
      const ofRuler = result.against("two", "ruler", "perSecond").toFixed(2);
      const detail = `${Math.round(result.two.perSecond)} against ${Math.round(result.one.perSecond)} calls/s, ${ofRuler} of the pass-through; ${result.two.cpuUs.toFixed(0)} against ${result.one.cpuUs.toFixed(0)} µs of processor a call`;
      yield within(
        "P1",
        `two workers against one, ${work}, ${job.sessions} sessions, ${era}`,
        [ratio],
        detail,
      );
    }
  }
  for (const target of [one, two, ruler, upstream]) await target.stop();
}
