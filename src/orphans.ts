/** Processes of servers that an earlier gateway left behind when it was killed: named at the next start, ended if asked. */
import { homedir } from "node:os";
import { join } from "node:path";
import type { Logger } from "./core/logger.js";
import { FileLedger } from "./upstream/transport/file-ledger.js";
import type { Orphan } from "./upstream/transport/process-ledger.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where processes are written down: with the state of the user (XDG base directories). */
export function openLedger(env: Environment, log: Logger): FileLedger {
  const state = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local", "state");
  return new FileLedger({ folder: join(state, "cardea", "processes"), log });
}

/** Most servers end when their input does; what is still there after so long (ms) does not. */
const GRACE_MS = 5_000;

/**
 * Names every orphan in the log that does not end by itself. With `reap` each is ended first, at once: it may hold what
 * its successor needs, a port or a lock.
 */
export async function settleOrphans(
  ledger: Pick<FileLedger, "orphans" | "end">,
  reap: boolean,
  log: Logger,
): Promise<void> {
  const name = ({ server, pid, command }: Orphan, sentence: string): void =>
    log.warn({ server, pid, command }, sentence);
  if (reap) {
    const ending = (await ledger.orphans()).map(async (orphan) => {
      await ledger.end(orphan);
      name(orphan, "ended a process that an earlier gateway had left behind");
    });
    await Promise.all(ending);
  } else if ((await ledger.orphans()).length > 0) {
    const nameAll = async (): Promise<void> => {
      for (const orphan of await ledger.orphans()) {
        name(
          orphan,
          "an earlier gateway was killed and has left this process behind; --reap ends such processes",
        );
      }
    };
    setTimeout(() => void nameAll(), GRACE_MS).unref();
  }
}
