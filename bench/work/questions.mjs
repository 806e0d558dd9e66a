/** P10: a question of a server that its host answers, where host and server speak different eras. */
import { within } from "../goals.mjs";
import { cardea, httpUpstream } from "../targets.mjs";

/**
 * Two conversations have to take place, one on each side of the gateway; each is measured alone, between a host and
 * a server of its own era, and what is left is what the gateway adds. The server asks one question at a time, so after the first
 * calls the gateway no longer waits for a second one.
 */
const GOAL_MS = 1;

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
    const bare = runs.near.p50 + runs.far.p50;
    const detail = `p50 ${runs.gateway.p50.toFixed(2)} ms; bare ${runs.near.p50.toFixed(2)} + ${runs.far.p50.toFixed(2)} ms`;
    const added = { value: runs.gateway.p50 - bare, goal: GOAL_MS, unit: " ms" };
    yield within("P10", `a question: ${host} host, ${upstream} upstream`, [added], detail);
    await gateway.stop();
  }
  await server.stop();
}
