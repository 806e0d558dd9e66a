/**
 * C10: limits that three replicas count together, in random workloads and through outages of the store: never over, the
 * limit at once after an outage, and with few calls to the store. `--seed=N` repeats them.
 */
import { pause, row } from "../faults/support/row.mjs";
import { startCluster } from "./support/cluster.mjs";
import { admitted } from "./support/limits.mjs";
import { words } from "./support/load.mjs";
import { scriptCalls } from "./support/redis.mjs";

const SEED = Number(process.argv.find((word) => word.startsWith("--seed="))?.slice(7) ?? Date.now() % 1e6);
const SHARES = [
  [1, 1, 1],
  [8, 1, 1],
  [1, 0, 0],
  [3, 2, 0],
];

/** Mulberry32: the same workloads for the same seed. */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** What is measured at a tenth, nine tenths and twice the limit: calls to the store. */
const STEADY = [
  { name: "tenth", rate: 1000, of: 0.1, seconds: 12, aim: 0.02 },
  { name: "most", rate: 200, of: 0.9, seconds: 8 },
  { name: "twice", rate: 100, of: 2, seconds: 8 },
];

/** How the store goes away and comes back. After `KILL` it is empty. */
const OUTAGES = [
  { name: "stopped", rate: 100, ms: 1_000, how: "SIGSTOP" },
  { name: "stoppedlong", rate: 100, ms: 8_000, how: "SIGSTOP" },
  { name: "killed", rate: 100, ms: 8_000, how: "SIGKILL" },
];
/** After it replicas are connected again, and the shares of those without calls are used, in s. */
const BACK_S = 2.5;

/** At twice the limit through an outage: how much was admitted in each second after it, and in all. */
async function throughOutage(row, cluster, { name, rate, ms, how }) {
  const { redis } = cluster;
  const seconds = 2 + ms / 1000 + BACK_S + 5;
  const measured = admitted(cluster, { server: name, perSecond: 2 * rate, seconds, shares: [1, 1, 1] });
  const begun = performance.now();
  await pause(2_000);
  if (how === "SIGKILL") await redis.kill();
  else redis.program.child.kill("SIGSTOP");
  await pause(ms);
  if (how === "SIGKILL") await redis.again();
  else redis.program.child.kill("SIGCONT");
  const back = (performance.now() - begun) / 1000;
  const { times, elapsed, errors } = await measured;
  const after = [0, 1, 2, 3, 4, 5, 6].map(
    (second) => times.filter((at) => at >= back + second && at < back + second + 1).length,
  );
  const what = `${how} for ${ms / 1000} s at twice ${rate}/s`;
  row.note(`${what}: admitted in each second after it: ${after.join(", ")}`);
  const ceiling = Math.floor(rate + rate * elapsed);
  row.check(
    `${what}: admitted`,
    `<= ${ceiling}`,
    `${times.length}${Object.keys(errors).length === 0 ? "" : `; ${words(errors)}`}`,
    times.length <= ceiling,
  );
  const settled = after.slice(Math.ceil(BACK_S));
  row.timing(
    `${what}: admitted in each second from ${Math.ceil(BACK_S)} s after it`,
    `${0.85 * rate} to ${1.15 * rate}`,
    settled.join(", "),
    settled.every((count) => count >= 0.85 * rate && count <= 1.15 * rate),
  );
}

await row(
  "C10",
  "rate limits over three replicas: 20 random workloads, outages of Redis, and the calls to Redis",
  async (row) => {
    const random = randomOf(SEED);
    const pick = (list) => list[Math.floor(random() * list.length)];
    const workloads = Array.from({ length: row.quick ? 5 : 20 }, (_, i) => {
      const rate = 5 + Math.floor(random() * 95);
      return {
        name: `w${i}`,
        rate,
        burst: 1 + Math.floor(random() * rate),
        of: 0.3 + random() * 2.7,
        seconds: 2,
        shares: pick(SHARES),
      };
    });
    row.note(`seed ${SEED}`);
    const all = [
      ...workloads,
      ...[...STEADY, ...OUTAGES].map((one) => ({ ...one, burst: one.rate, shares: [1, 1, 1] })),
    ];
    const cluster = await startCluster(row, {
      balancer: false,
      config: ({ urls }) => ({
        mcpServers: Object.fromEntries(
          all.map(({ name }) => [name, { type: "http", url: urls.modern, protocol: "modern" }]),
        ),
        limits: all.map(({ name, rate, burst }) => ({
          tools: [`${name}__run`],
          rate: `${rate}/s`,
          burst,
          per: "all",
        })),
      }),
    });
    const measure = async ({ name, rate, burst, of, seconds, shares }) => {
      const result = await admitted(cluster, { server: name, perSecond: rate * of, seconds, shares });
      return { ...result, ceiling: burst + rate * result.elapsed };
    };
    let over = 0;
    let worst = 0;
    let least = Number.POSITIVE_INFINITY;
    const errors = {};
    for (const workload of workloads) {
      const result = await measure(workload);
      if (result.admitted > result.ceiling) over += 1;
      worst = Math.max(worst, result.admitted / result.ceiling);
      least = Math.min(least, result.admitted / Math.min(result.sent, result.ceiling));
      for (const [word, count] of Object.entries(result.errors)) errors[word] = (errors[word] ?? 0) + count;
    }
    row.check(
      `workloads of ${workloads.length} in which more than the limit was admitted`,
      0,
      `${over}; at most ${(100 * worst).toFixed(0)} % of the ceiling`,
      over === 0,
    );
    row.check(
      "calls that neither ran nor were rate-limited",
      0,
      words(errors),
      Object.keys(errors).length === 0,
    );
    row.note(`at least ${(100 * least).toFixed(0)} % of what the limit allowed was admitted`);

    for (const steady of STEADY) {
      const leases = () => cluster.sum("cardea_cluster_lease_calls_total");
      const before = { leases: await leases(), scripts: await scriptCalls(cluster.redis) };
      const result = await measure({ ...steady, burst: steady.rate, shares: [1, 1, 1] });
      const per = ((await leases()) - before.leases) / result.sent;
      const all = ((await scriptCalls(cluster.redis)) - before.scripts) / result.sent;
      const what = `lease calls to Redis per call at ${steady.of * 100} % of the limit`;
      const figure = `${per.toFixed(3)}, ${all.toFixed(3)} with heartbeats (${result.admitted} of ${result.sent} admitted, ceiling ${Math.floor(result.ceiling)})`;
      row.check(
        what,
        `<= ${steady.aim ?? 1}, never over`,
        figure,
        per <= (steady.aim ?? 1) && result.admitted <= result.ceiling,
      );
    }
    for (const outage of OUTAGES) {
      await throughOutage(row, cluster, outage);
      await cluster.known();
      await pause(2_000);
    }
  },
);
