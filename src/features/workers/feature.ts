/** Several processes as one gateway, to use more than one core (`cardea serve --workers`, docs/workers.md). */
import { UsageError } from "../../cli/exit.js";
import type { Feature } from "../../cli/feature.js";
import type { ServeFlagValues } from "../../cli/serve-flags.js";
import type { ServingMode } from "../../cli/serving-mode.js";
import { WORKER_ENV } from "./identity.js";

/** Nothing of it is open in a worker: it is a gateway like any other. */
export const workers: Feature = {
  name: "workers",
  serveFlags: [
    {
      flags: "--workers <n>",
      description: "how many processes serve the port; default 1 (CARDEA_WORKERS)",
      usage: "[--workers N]",
    },
  ],
  servingMode: { asked, join },
  open: async () => undefined,
};

/** Beyond that number of processors use several machines. */
const MAX_WORKERS = 128;

type Environment = Parameters<ServingMode["asked"]>[1];

function asked(flags: ServeFlagValues, env: Environment): ReturnType<ServingMode["asked"]> {
  const count = workerCount(flags, env);
  if (count === 1) return undefined;
  return {
    processes: count,
    open: async (config, context) =>
      (await import("./primary.js")).createPrimary(config, { ...context, count }),
  };
}

/** @throws UsageError for an invalid number of workers */
function workerCount({ workers: flag }: ServeFlagValues, env: Environment): number {
  const text = flag ?? (env.CARDEA_WORKERS === "" ? undefined : env.CARDEA_WORKERS);
  if (text === undefined) return 1;
  const count = typeof text === "string" && /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count >= 1 && count <= MAX_WORKERS)) {
    const name = flag === undefined ? "CARDEA_WORKERS" : "--workers";
    throw new UsageError(`${name} must be a whole number from 1 to ${MAX_WORKERS}`);
  }
  return count;
}

async function join(): ReturnType<ServingMode["join"]> {
  if (process.env[WORKER_ENV] === undefined) return undefined;
  return (await import("./worker.js")).joinWorkers();
}
