/** Calls of a limited tool at replicas, as evenly in time as a timer can, and how many of them a limit admitted. */
import { newAgent, openHost, refusalOf, textOf } from "../../test/support/host/host.mjs";

/**
 * @param cluster of `startCluster`
 * @param {{ server: string, perSecond: number, seconds: number, shares: number[] }} workload `shares`: how much of it each replica gets
 * @returns `sent`, `admitted`, `refused`, `errors` by word, and `elapsed`: from before the first call to after the last answer (s);
 *   `times`: of the answers of admitted calls, in s since the first call
 */
export async function admitted(cluster, { server, perSecond, seconds, shares }) {
  const agent = newAgent({ timeout: 4_000 });
  const hosts = await Promise.all(cluster.replicas.map(({ url }) => openHost(url, "modern", { agent })));
  const whole = shares.reduce((sum, share) => sum + share, 0);
  const bounds = shares.map((_, i) => shares.slice(0, i + 1).reduce((sum, share) => sum + share, 0) / whole);
  const result = { sent: 0, admitted: 0, refused: 0, errors: {}, times: [] };
  const calls = [];
  const call = async (n) => {
    // The golden ratio spreads the calls evenly, whatever the shares.
    const at = (n * 0.618034) % 1;
    const host = hosts[bounds.findIndex((bound) => at < bound)];
    try {
      const { message, status } = await host.call(`${server}__run`, { key: `${server}-${n}` });
      if (textOf(message) === `${server}-${n}`) {
        result.admitted += 1;
        result.times.push(elapsed());
      } else if (refusalOf(message)?.code === "rate_limited") result.refused += 1;
      else note(refusalOf(message)?.code ?? `HTTP ${status}`);
    } catch (error) {
      note(error.code ?? error.message);
    }
  };
  const note = (word) => {
    result.errors[word] = (result.errors[word] ?? 0) + 1;
  };
  const begun = performance.now();
  const elapsed = () => (performance.now() - begun) / 1000;
  while (elapsed() < seconds) {
    const due = elapsed() * perSecond;
    while (result.sent < due) {
      calls.push(call(result.sent));
      result.sent += 1;
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.all(calls);
  agent.destroy();
  return { ...result, elapsed: elapsed() };
}
