/** Handles server processes that outlived a killed gateway: the next start logs them, or kills them with `--reap`. */
import { join } from "node:path";
import type { Logger } from "../../core/logger.js";
import { PidFileRegistry } from "../transport/pid-file-registry.js";
import type { Orphan } from "../transport/process-group.js";

/** The pid files, in the state folder of the user. */
export function openProcessRegistry(stateFolder: string, log: Logger): PidFileRegistry {
  return new PidFileRegistry({ folder: join(stateFolder, "processes"), log });
}

/** Most servers exit when their stdin closes; one that still runs after this time (ms) does not. */
const GRACE_MS = 5_000;

/**
 * Logs every orphan that does not exit. With `reap` each is killed first, immediately: it may hold a port or a lock
 * that its successor needs.
 */
export async function handleOrphans(
  registry: Pick<PidFileRegistry, "orphans" | "end">,
  reap: boolean,
  log: Logger,
): Promise<void> {
  const logOrphan = ({ server, pid, command }: Orphan, sentence: string): void =>
    log.warn({ server, pid, command }, sentence);
  if (reap) {
    const ending = (await registry.orphans()).map(async (orphan) => {
      await registry.end(orphan);
      logOrphan(orphan, "ended an orphaned process of a killed gateway");
    });
    await Promise.all(ending);
  } else if ((await registry.orphans()).length > 0) {
    const logOrphans = async (): Promise<void> => {
      for (const orphan of await registry.orphans()) {
        logOrphan(orphan, "orphaned process of a killed gateway; --reap ends such processes");
      }
    };
    setTimeout(() => void logOrphans(), GRACE_MS).unref();
  }
}
