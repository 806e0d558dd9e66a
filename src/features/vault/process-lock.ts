/**
 * A lock per record between processes of one machine: the holder is the process whose token is in the lock folder.
 *
 * A process prepares a folder with one file, its token, and renames it to `NAME.lock`. The rename succeeds only if no
 * such folder exists or it is empty (POSIX rename), so there is never a second holder, and no partial lock is visible.
 * A release, and the takeover from a dead process, removes that one token: a slow process that removes the token of a
 * dead holder cannot remove the token of the next one.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { placeOfPids } from "../../runtime/pid-namespace.js";
import { startTimesOf } from "../../runtime/process-start-times.js";
import { codeOf } from "../../state/private-file.js";
import { DRAFT_SUFFIX } from "./durable-files.js";
import { VaultError } from "./vault-error.js";

/** The holder of a lock. */
interface Holder {
  readonly pid: number;
  /** The start time of the process; absent if the system does not provide it. */
  readonly began?: string;
  /** The boot and pid namespace in which the pid is unique. */
  readonly place: string;
}

/** Times in ms; tests shorten them. */
export interface LockTimes {
  /** Renewal interval of a token. */
  readonly renewMs: number;
  /** A holder elsewhere (another machine, container or replica) is dead if its token was not renewed for this time. */
  readonly staleMs: number;
  /** Timeout of acquiring a lock. */
  readonly waitMs: number;
}

/** The default times. */
export const LOCK_TIMES: LockTimes = { renewMs: 5_000, staleMs: 30_000, waitMs: 120_000 };
const MAX_POLL_MS = 50;
/** Every tenth poll checks whether the holder's process exists. */
const POLLS_PER_LOOK = 10;

/** A held lock. `release` never rejects. */
export interface HeldLock {
  release(): Promise<void>;
}

/** The locks of a folder. */
export class ProcessLocks {
  readonly #folder: string;
  readonly #times: LockTimes;
  #self: Promise<Holder> | undefined;

  /** @param folder must exist */
  constructor(folder: string, times: Partial<LockTimes> = {}) {
    this.#folder = folder;
    this.#times = { ...LOCK_TIMES, ...times };
  }

  /** Resolves when this process holds the lock `name`. @throws VaultError */
  async acquire(name: string): Promise<HeldLock> {
    const lock = join(this.#folder, `${name}.lock`);
    const token = randomBytes(8).toString("hex");
    const draft = join(this.#folder, `${name}.${token}${DRAFT_SUFFIX}`);
    try {
      this.#self ??= selfAsHolder();
      await mkdir(draft, { mode: 0o700 });
      await writeFile(join(draft, token), JSON.stringify(await this.#self), { flag: "wx", mode: 0o600 });
      await this.#take(draft, lock);
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      if (error instanceof VaultError) throw error;
      throw new VaultError("disk", `a lock cannot be made in ${this.#folder} (${codeOf(error)})`, {
        cause: error,
      });
    }
    return this.#held(lock, token);
  }

  async #take(draft: string, lock: string): Promise<void> {
    const begun = performance.now();
    const watch = new HolderWatch(lock, this.#times.staleMs);
    let pollMs = 2;
    for (let poll = 0; !(await becomes(draft, lock)); poll++) {
      if (await watch.isDead(poll % POLLS_PER_LOOK === 0)) {
        await watch.removeToken();
        continue;
      }
      if (performance.now() - begun > this.#times.waitMs) {
        throw new VaultError(
          "locked",
          `${await watch.describe()} has held ${lock} for more than ${Math.round(this.#times.waitMs / 1000)} s: end it, or remove that folder if it is no gateway`,
        );
      }
      await pause(pollMs * (0.5 + Math.random() / 2));
      pollMs = Math.min(pollMs * 1.5, MAX_POLL_MS);
    }
  }

  #held(lock: string, token: string): HeldLock {
    const file = join(lock, token);
    const renew = setInterval(() => {
      const now = new Date();
      // If the token is gone, another process has taken over; the generation of the record fences this one off.
      utimes(file, now, now).catch(() => clearInterval(renew));
    }, this.#times.renewMs);
    renew.unref();
    return {
      release: async () => {
        clearInterval(renew);
        await rm(file, { force: true }).catch(() => {});
        // Not empty: the next process already holds it.
        await rmdir(lock).catch(() => {});
      },
    };
  }
}

/** Watches the holder of a lock between polls. */
class HolderWatch {
  #token: string | undefined;
  #renewedAt = 0;
  /** Monotonic time since when the token was not renewed. */
  #since = 0;

  constructor(
    private readonly lock: string,
    private readonly staleMs: number,
  ) {}

  /** Whether the holder is known to be dead. `look`: whether to check its process. */
  async isDead(look: boolean): Promise<boolean> {
    const [token] = await readdir(this.lock).catch(() => []);
    if (token === undefined) return false;
    const stats = await stat(join(this.lock, token)).catch(() => undefined);
    if (stats === undefined) return false;
    const isNew = token !== this.#token;
    if (isNew || stats.mtimeMs !== this.#renewedAt) {
      this.#token = token;
      this.#renewedAt = stats.mtimeMs;
      this.#since = performance.now();
    }
    if (!(look || isNew)) return false;
    const holder = await this.#holder();
    const known = holder === undefined ? undefined : await isRunning(holder);
    // Clocks of machines differ: only changes of the token seen by this process count.
    return known === undefined ? performance.now() - this.#since > this.staleMs : !known;
  }

  /** Removes exactly the token that was seen last. */
  async removeToken(): Promise<void> {
    if (this.#token !== undefined) await rm(join(this.lock, this.#token), { force: true });
  }

  async describe(): Promise<string> {
    const holder = await this.#holder();
    return holder === undefined ? "another process" : `process ${holder.pid}`;
  }

  async #holder(): Promise<Holder | undefined> {
    if (this.#token === undefined) return undefined;
    const text = await readFile(join(this.lock, this.#token), "utf8").catch(() => "");
    try {
      return JSON.parse(text) as Holder;
    } catch {
      // A crash of the machine can leave an empty file.
      return undefined;
    }
  }
}

/** Undefined if unknown from here. */
async function isRunning({ pid, began, place }: Holder): Promise<boolean | undefined> {
  if (place !== placeOfPids() || began === undefined) return undefined;
  return (await startTimesOf([pid])).get(pid) === began;
}

async function selfAsHolder(): Promise<Holder> {
  const began = (await startTimesOf([process.pid])).get(process.pid);
  return { pid: process.pid, place: placeOfPids(), ...(began !== undefined && { began }) };
}

/** Whether `draft` has become the lock. */
async function becomes(draft: string, lock: string): Promise<boolean> {
  try {
    await rename(draft, lock);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOTEMPTY" || code === "EEXIST") return false;
    if (code !== "EPERM" && code !== "EACCES") throw error;
    // Windows does not rename to an existing folder, not even to an empty one. Removes an empty one only.
    await rmdir(lock).catch(() => {
      if (process.platform !== "win32") throw error;
    });
    return false;
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
