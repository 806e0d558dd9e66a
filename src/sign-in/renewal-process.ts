/**
 * The program of the renewal process: it sends refresh tokens and writes what comes back, so that the end of the gateway
 * (kill -9, no memory, a crash) between a request and its answer loses no token. It outlives the gateway until its jobs are
 * done, and a gateway without jobs for it by 10 s.
 */
import { createInterface } from "node:readline";
import { openStore } from "../cluster/store.js";
import { untilUp } from "../core/cluster.js";
import { SILENT } from "../core/logger.js";
import { type OpenVault, openVault } from "../vault/vault.js";
import { VaultError } from "../vault/vault-error.js";
import { renew } from "./renew.js";
import type { EndpointModule, RenewalAnswer, RenewalJob, RenewalSetup } from "./renewal-job.js";

/** How long (ms) it waits for the next job. */
const IDLE_MS = 10_000;
/** How long (ms) the first job waits for the connection to the store. */
const CONNECT_MS = 5_000;

/** Serves the jobs of `stdin`; resolves when there are no more, and the last one is done. */
async function serve(): Promise<void> {
  // What ends the gateway must not end this: a terminal and a supervisor send these to all processes.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  // The gateway has gone; the answers are on disk.
  process.stdout.on("error", () => {});
  const running = new Set<Promise<void>>();
  let vault: Promise<OpenVault> | undefined;
  const lines = createInterface({ input: process.stdin });
  const idle = setTimeout(() => lines.close(), IDLE_MS);
  for await (const line of lines) {
    if (vault === undefined) {
      vault = open(JSON.parse(line) as RenewalSetup);
      // A failure is the answer to each job.
      vault.catch(() => {});
      continue;
    }
    const job = JSON.parse(line) as RenewalJob;
    const work = answerTo(job, vault).then((answer) => {
      process.stdout.write(`${JSON.stringify(answer)}\n`);
      running.delete(work);
      idle.refresh();
    });
    running.add(work);
    idle.refresh();
  }
  clearTimeout(idle);
  await Promise.all(running);
}

async function open({ folder, keys, store }: RenewalSetup): Promise<OpenVault> {
  const options = { folder, logger: SILENT, ...(keys !== undefined && { keys }) };
  if (store === undefined) return openVault(options);
  const shared = await openStore({ config: store, logger: SILENT });
  // A store that is away is the answer to each job.
  await untilUp(shared, CONNECT_MS);
  return openVault({ ...options, shared });
}

async function answerTo(
  { id, recipe, request }: RenewalJob,
  opened: Promise<OpenVault>,
): Promise<RenewalAnswer> {
  try {
    const { tokenEndpointOf } = (await import(recipe.module)) as EndpointModule;
    const vault = await opened;
    const endpoint = await tokenEndpointOf(recipe.settings, vault);
    const deadline = (ms: number): AbortSignal => AbortSignal.timeout(ms);
    return { id, renewal: await renew(request, { vault, endpoint, now: Date.now, deadline }) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { id, message, ...(error instanceof VaultError && { fault: error.fault }) };
  }
}

await serve();
// The connection to the store would keep it.
process.exit();
