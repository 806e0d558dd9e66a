/** A rolling restart: one replica after the other ends and comes back, and the next one waits for it. */
import { pause, until } from "../../faults/support/row.mjs";

/**
 * @param cluster of `startCluster`
 * @param {{ settleMs?: number, versions?: string[], leave?: (replica) => Promise<object> }} options `versions`: what each one is
 *   started as; `leave`: how it ends (SIGTERM)
 * @returns how each ended: `{ code, signal, ms }`
 */
export async function roll(
  cluster,
  { settleMs = 1_500, versions = [], leave = (replica) => replica.end() } = {},
) {
  const exits = [];
  for (const [i, replica] of cluster.replicas.entries()) {
    exits.push(await leave(replica));
    await replica.start(versions[i]);
    await until("the replica to be ready", async () => (await replica.ready()) === 200, 20_000, 50);
    await cluster.known();
    await pause(settleMs);
  }
  return exits;
}
