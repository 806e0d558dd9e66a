/** Processes of servers that an earlier gateway left behind when it was killed: named at the next start, ended if asked. */
import { homedir } from "node:os";
import { join } from "node:path";
import type { Logger } from "../core/logger.js";
import { PidFileRegistry } from "../upstream/transport/pid-file-registry.js";
import type { Orphan } from "../upstream/transport/process-registry.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where processes are written down: with the state of the user (XDG base directories). */
export function openProcessRegistry(env: Environment, log: Logger): PidFileRegistry {
  const state = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local", "state");
  return new PidFileRegistry({ folder: join(state, "cardea", "processes"), log });
}

/** Most servers end when their input does; what is still there after so long (ms) does not. */
const GRACE_MS = 5_000;

/**
 * Names every orphan in the log that does not end by itself. With `reap` each is ended first, at once: it may hold what
 * its successor needs, a port or a lock.
 */
export async function handleOrphans(
  ledger: Pick<PidFileRegistry, "orphans" | "end">,
  reap: boolean,
  log: Logger,
): Promise<void> {
  const logOrphan = ({ server, pid, command }: Orphan, sentence: string): void =>
    log.warn({ server, pid, command }, sentence);
  if (reap) {
    const ending = (await ledger.orphans()).map(async (orphan) => {
      await ledger.end(orphan);
      logOrphan(orphan, "ended a process that an earlier gateway had left behind");
    });
    await Promise.all(ending);
  } else if ((await ledger.orphans()).length > 0) {
    const logOrphans = async (): Promise<void> => {
      for (const orphan of await ledger.orphans()) {
        logOrphan(
          orphan,
          "an earlier gateway was killed and has left this process behind; --reap ends such processes",
        );
      }
    };
    setTimeout(() => void logOrphans(), GRACE_MS).unref();
  }
}
