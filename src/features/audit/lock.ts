/**
 * A lock file with the id, start time and pid namespace of the writing process. The lock of a process that has ended is taken
 * over; that of a process in another container, which cannot be looked at, when it is no longer renewed.
 */
import { readFileSync } from "node:fs";
import { readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { placeOfPids } from "../../runtime/pid-namespace.js";
import { lockName } from "./names.js";

/** How often (ms) a lock is renewed. */
const RENEW_MS = 2_000;
/** A lock of another container that was not renewed for this time (ms) is left over. */
const STALE_MS = 10_000;
/** Writing a lock and taking one over take no longer than this (ms), so that an empty lock and a guard that are older are left over. */
const GUARD_MS = 5_000;
/** Attempts, and the time between them (ms), while another process takes over a lock that is left over. */
const MAX_ATTEMPTS = 100;
const RETRY_MS = 20;

/** Who has a lock: a process; one that has not written its text yet; one that has ended; or none. */
type Holder = { readonly pid: number; readonly isElsewhere: boolean } | "unknown" | "ended" | "nobody";

/** Locks `file`. @returns its release. @throws Error if a running process holds it */
export async function takeLock(file: string): Promise<() => Promise<void>> {
  const lock = lockName(file);
  const text = `${identity(process.pid)} ${placeOfPids()}\n`;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (await isCreated(lock, text)) return held(lock, text);
    const holder = await holderOf(lock);
    if (typeof holder === "object" && !isOwn(holder)) {
      const where = holder.isElsewhere ? " of another container" : "";
      throw new Error(`process ${holder.pid}${where} writes it already (${lock})`);
    }
    if (holder !== "unknown" && (await removeAlone(lock))) continue;
    await pause(RETRY_MS);
  }
  throw new Error(`the lock cannot be taken over (${lock})`);
}

/** The id of the running process that writes `file`; undefined if there is none. */
export async function lockHolder(file: string): Promise<number | undefined> {
  const holder = await holderOf(lockName(file));
  return typeof holder === "object" ? holder.pid : undefined;
}

/** Our own lock reappears if a moved folder is moved back. */
const isOwn = (holder: Holder): boolean =>
  typeof holder === "object" && holder.pid === process.pid && !holder.isElsewhere;

function held(lock: string, text: string): () => Promise<void> {
  const renew = setInterval(() => {
    const now = new Date();
    utimes(lock, now, now).catch(() => {}); // It may be away with its folder, and come back.
  }, RENEW_MS).unref();
  return async () => {
    clearInterval(renew);
    // After a long suspension it may be that of another process.
    if ((await readFile(lock, "utf8").catch(() => "")) === text) await rm(lock, { force: true });
  };
}

/**
 * Removes a lock that is left over, one process at a time: between a look at it and its removal another one could take it
 * over. False where another process is removing it.
 */
async function removeAlone(lock: string): Promise<boolean> {
  const guard = `${lock}.takeover`;
  if (!(await isCreated(guard, ""))) {
    if (await isOlderThan(guard, GUARD_MS)) await rm(guard, { force: true });
    return false;
  }
  try {
    const holder = await holderOf(lock);
    // One that is gone may be made by another process at this moment.
    if (holder === "ended" || isOwn(holder)) await rm(lock, { force: true });
  } finally {
    await rm(guard, { force: true });
  }
  return true;
}

/** @throws the system error, except where it exists */
async function isCreated(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

async function holderOf(lock: string): Promise<Holder> {
  const text = await readFile(lock, "utf8").catch(() => undefined);
  if (text === undefined) return "nobody";
  if (text === "") return (await isOlderThan(lock, GUARD_MS)) ? "ended" : "unknown";
  const [, id = "", place = placeOfPids()] = /^(\d{1,10}[^\n]*?)(?: ([0-9a-f]{16}))?\n?$/.exec(text) ?? [];
  const pid = Number.parseInt(id, 10);
  if (!(pid > 0)) return "ended";
  if (place !== placeOfPids())
    return (await isOlderThan(lock, STALE_MS)) ? "ended" : { pid, isElsewhere: true };
  return isAlive(pid) && identity(pid) === id ? { pid, isElsewhere: false } : "ended";
}

const isOlderThan = async (path: string, ms: number): Promise<boolean> =>
  stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs > ms,
    () => false,
  );

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
