/** P10: a question of a server that its host answers, where host and server speak different eras. */
import { within } from "../goals.mjs";
import { cardea, httpUpstream } from "../targets.mjs";

/**
 * Two conversations have to take place, one on each side of the gateway; each is measured alone, between a host and
 * a server of its own era, and what is left is what the gateway adds. A legacy server is given 20 ms to ask more
 * before its question is passed on; that wait is taken off.
 */
const SETTLE_MS = 20;

export async function* questions({ measure }) {
  const server = await httpUpstream();
  const job = (era) => ({ era, sessions: 1, work: "ask", tool: "ask" });
  for (const [host, upstream] of [
    ["legacy", "modern"],
    ["modern", "legacy"],
  ]) {
    const gateway = await cardea({ echo: { type: "http", url: server.url, prefix: "", protocol: upstream } });
    const runs = await measure.interleave({
      near: { ...server, job: job(host) },
      far: { ...server, job: job(upstream) },
      gateway: { ...gateway, job: job(host) },
    });
    const settle = upstream === "legacy" ? await waitOf(SETTLE_MS) : 0;
    const bare = runs.near.p50 + runs.far.p50;
    const detail = `p50 ${runs.gateway.p50.toFixed(2)} ms; bare ${runs.near.p50.toFixed(2)} + ${runs.far.p50.toFixed(2)} ms${settle > 0 ? `; settle window ${settle.toFixed(2)} ms` : ""}`;
    const added = { value: runs.gateway.p50 - bare - settle, goal: 0.5, unit: " ms" };
    yield within("P10", `a question: ${host} host, ${upstream} upstream`, [added], detail);
    await gateway.stop();
  }
  await server.stop();
}

/** The real duration of a timer of this length (ms) in this Node on this machine: the median of a few. */
async function waitOf(ms) {
  const waits = [];
  for (let i = 0; i < 25; i += 1) {
    const start = performance.now();
    await new Promise((resolve) => setTimeout(resolve, ms));
    waits.push(performance.now() - start);
  }
  return waits.toSorted((a, b) => a - b)[12];
}
