/** C9: a replica with a thousand sessions is killed, and all of them are used at once. */

import { pause, row } from "../faults/support/row.mjs";
import { newAgent, openHost, textOf } from "../test/support/host/host.mjs";
import { startCluster } from "./support/cluster.mjs";
import { tally, words } from "./support/load.mjs";

/** Calls under way at once: a server takes 32 and queues 100. */
const AT_ONCE = 60;

const memoryOf = (info) => /used_memory_dataset:(\d+)/.exec(String(info))?.[1] ?? "unknown";

/** Opens them, a hundred at a time. */
async function openAll(url, count, agent) {
  const hosts = [];
  while (hosts.length < count) {
    const some = Array.from({ length: Math.min(100, count - hosts.length) }, () =>
      openHost(url, "legacy", { agent }),
    );
    hosts.push(...(await Promise.all(some)));
  }
  return hosts;
}

await row("C9", "1,000 sessions of a killed replica are adopted at once", async (row) => {
  const count = row.quick ? 200 : 1_000;
  const cluster = await startCluster(row);
  const agent = newAgent({ timeout: 4_000 });
  const hosts = await openAll(cluster.replicas[0].url, count, agent);
  // They continue through the balancer.
  const toBalancer = (host, method, params) => {
    const message = host.message(host.nextId(), method, params);
    return fetch(cluster.url, {
      method: "POST",
      headers: host.headersOf(method, params.name),
      body: JSON.stringify(message),
    });
  };
  // The other replicas learn of a session a moment after it was opened; one that none knows is adopted in its first 10 s.
  await pause(2_000);
  const before = await cluster.redis.command("INFO", "memory");
  await cluster.replicas[0].kill();
  const killed = performance.now();
  const outcomes = await Promise.all(
    hosts.map(async (host) => {
      const at = performance.now();
      try {
        const answer = await toBalancer(host, "tools/list", {});
        const text = await answer.text();
        const good = answer.status === 200 && text.includes('"tools"');
        return {
          host,
          at,
          end: performance.now(),
          ...(!good && { error: `HTTP ${answer.status} ${text.slice(0, 120)}` }),
        };
      } catch (error) {
        return { host, at, end: performance.now(), error: error.cause?.code ?? error.message };
      }
    }),
  );
  const took = performance.now() - killed;
  const first = tally(outcomes);
  row.check(
    `lists of ${count} sessions at once that failed`,
    0,
    `${first.failed.length}: ${words(first.errors)}`,
    first.failed.length === 0,
  );
  row.timing("all of them served after", "<= 10 s", `${(took / 1000).toFixed(1)} s`, took <= 10_000);
  row.note(
    `p50 ${Math.round(first.p50)} ms, p99 ${Math.round(first.p99)} ms; ${memoryOf(before)} bytes of data in Redis for ${count} records`,
  );
  const adoptions = await cluster.sum("cardea_cluster_adoptions_total");
  row.check("adoptions", count, adoptions, adoptions === count);

  const ran = [];
  const queue = hosts.map((host, i) => ({ host, key: `adopted-${i}` }));
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const { key, host } = next;
        const answer = await toBalancer(host, "tools/call", { name: "new__run", arguments: { key } });
        const text = await answer.text();
        const message = text.startsWith("{")
          ? JSON.parse(text)
          : JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? "{}");
        ran.push({
          at: 0,
          end: 0,
          ...(textOf(message) !== key && { error: `HTTP ${answer.status} ${text.slice(0, 120)}` }),
        });
      }
    }),
  );
  const calls = tally(ran);
  row.check(
    "calls of the adopted sessions that failed",
    0,
    `${calls.failed.length} of ${calls.sent}: ${words(calls.errors)}`,
    calls.failed.length === 0,
  );
  const runs = await cluster.ledger.runs();
  const twice = [...runs.values()].filter((times) => times.length > 1).length;
  row.check("tools that ran twice", 0, twice, twice === 0);
  agent.destroy();
});
