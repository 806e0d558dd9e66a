/** Work that nobody waits for: its failure is told to the log, and ends nothing else. */
import type { Logger } from "./logger.js";

/** Lets `work` go on; `what` it is stands in the log where it fails, which only a fault of the gateway makes it. */
export function inBackground(work: Promise<unknown>, log: Pick<Logger, "error">, what: string): void {
  work.catch((error: unknown) => log.error({ error }, `${what} failed: a fault of the gateway`));
}
