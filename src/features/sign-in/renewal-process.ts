/**
 * The program of the renewal process: sends refresh tokens and writes the responses, so that a crash of the gateway
 * (kill -9, out of memory) between request and response loses no token. Ends when its jobs are done after the gateway
 * has exited, or after 10 s without a job.
 */
import { createInterface } from "node:readline";
import { SILENT } from "../../core/logger.js";
import { type StoreModule, untilUp } from "../../core/shared-store.js";
import { type OpenVault, openVault } from "../vault/vault.js";
import { VaultError } from "../vault/vault-error.js";
import { renew } from "./renew.js";
import type { EndpointModule, RenewalAnswer, RenewalJob, RenewalSetup } from "./renewal-job.js";

/** Idle timeout (ms). */
const IDLE_MS = 10_000;
/** How long (ms) the first job waits for the connection to the store. */
const CONNECT_MS = 5_000;

/** Serves the jobs of `stdin`; resolves at its end, after the last job. */
async function serve(): Promise<void> {
  // Signals that stop the gateway must not stop this process: a terminal and a supervisor send them to the whole group.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  // The gateway has exited; the results are on disk.
  process.stdout.on("error", () => {});
  const running = new Set<Promise<void>>();
  let vault: Promise<OpenVault> | undefined;
  const lines = createInterface({ input: process.stdin });
  const idle = setTimeout(() => lines.close(), IDLE_MS);
  for await (const line of lines) {
    if (vault === undefined) {
      vault = open(JSON.parse(line) as RenewalSetup);
      // A failure is the response to each job.
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
  const { openShared } = (await import(store.module)) as StoreModule;
  const shared = await openShared(store.settings);
  // An unavailable store is the response to each job.
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
// An open connection to the store would keep the process alive.
process.exit();
