/** Processes of servers that an earlier gateway left behind when it was killed: named at the next start, ended if asked. */
import { homedir } from "node:os";
import { join } from "node:path";
import type { Logger } from "./core/logger.js";
import { FileLedger } from "./upstream/transport/file-ledger.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where processes are written down: with the state of the user (XDG base directories). */
export function openLedger(env: Environment, log: Logger): FileLedger {
  const state = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local", "state");
  return new FileLedger({ folder: join(state, "cardea", "processes"), log });
}

/**
 * Names every orphan in the log. With `reap` each is ended first: it may hold what its successor needs, a port or a
 * lock.
 */
export async function settleOrphans(ledger: FileLedger, reap: boolean, log: Logger): Promise<void> {
  await Promise.all(
    ledger.orphans().map(async (orphan) => {
      const { server, pid, command } = orphan;
      if (reap) await ledger.end(orphan);
      log.warn(
        { server, pid, command },
        reap
          ? "ended a process that an earlier gateway had left behind"
          : "an earlier gateway was killed and has left this process behind; --reap ends such processes",
      );
    }),
  );
}
