/** A lock file with the id and start time of the writing process; a lock of a dead process is ignored. */
import { readFileSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { lockName } from "./names.js";

/** Locks `file`. @returns its release. @throws Error if a running process holds it */
export async function takeLock(file: string): Promise<() => Promise<void>> {
  const lock = lockName(file);
  const own = identity(process.pid);
  for (let attempt = 0; ; attempt += 1) {
    try {
      await writeFile(lock, `${own}\n`, { flag: "wx", mode: 0o600 });
      return () => rm(lock, { force: true });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST") || attempt > 2) throw error;
    }
    const holder = await lockHolder(file);
    // Our own lock reappears if a moved folder is moved back.
    if (holder !== undefined && holder !== process.pid)
      throw new Error(`process ${holder} writes it already (${lock})`);
    await rm(lock, { force: true });
  }
}

/** The running process that writes `file`; undefined if there is none. */
export async function lockHolder(file: string): Promise<number | undefined> {
  const text = await readFile(lockName(file), "utf8").catch(() => "");
  const pid = Number(/^\d{1,10}/.exec(text)?.[0] ?? 0);
  return pid > 0 && isAlive(pid) && identity(pid) === text.trim() ? pid : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs, as another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** The process id with its start time, if the system provides it: ids are reused, in containers always the same. */
function identity(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in brackets, may contain spaces.
    const [state, ...others] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie takes signals and writes nothing; in a container without an init process it stays.
    return state === "Z" ? `${pid} ended` : `${pid} ${others[18] ?? ""}`;
  } catch {
    // Only Linux has such files.
    return String(pid);
  }
}
