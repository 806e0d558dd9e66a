/**
 * Which server processes outlived a gateway that was killed (SIGKILL)? One pid file per process, which the next gateway
 * reads. Most servers exit when their stdin closes; this finds the others.
 */

import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Logger } from "../../core/logger.js";
import { startTimesOf } from "../../runtime/process-start-times.js";
import type { Orphan, ProcessRegistry } from "./process-group.js";

interface Entry extends ProcessIdentity, Orphan {
  readonly gateway: ProcessIdentity;
}

/** Where the pid files are. */
interface PidFileRegistryOptions {
  /** Created when missing, with mode 0700. */
  readonly folder: string;
  readonly log: Logger;
  /** The gateway that starts the processes. Default: this process. */
  readonly gateway?: ProcessIdentity;
}

/** How long (ms) an orphan may take to exit after each signal. */
const KILL_GRACE_MS = 2_000;
const SUFFIX = ".json";

/** One file per process, so that concurrent gateways do not conflict. */
export class PidFileRegistry implements ProcessRegistry {
  readonly #folder: string;
  readonly #log: Logger;
  readonly #gateway: Promise<ProcessIdentity | undefined>;
  /** Writes in progress. */
  readonly #writing = new Set<Promise<void>>();
  #scanning: Promise<readonly Orphan[]> | undefined;
  #hasLogged = false;

  constructor({ folder, log, gateway }: PidFileRegistryOptions) {
    // A pid is unique within one machine, boot and pid namespace (container).
    this.#folder = join(folder, createHash("sha256").update(pidNamespaceId()).digest("hex").slice(0, 16));
    this.#log = log;
    this.#gateway = gateway === undefined ? processIdentityOf(process.pid) : Promise.resolve(gateway);
  }

  register(pid: number, server: string, command: string): () => Promise<void> {
    const file = join(this.#folder, `${pid}${SUFFIX}`);
    const written = this.#write(file, pid, { server, command }).finally(() => this.#writing.delete(written));
    this.#writing.add(written);
    return () => written.then(() => this.#remove(file));
  }

  /** Deletes entries of exited processes on the way. Concurrent calls share one scan. */
  orphans(): Promise<readonly Orphan[]> {
    this.#scanning ??= this.#scan().finally(() => {
      this.#scanning = undefined;
    });
    return this.#scanning;
  }

  /** Ends the process group of an orphan: SIGTERM, then SIGKILL. */
  async end(orphan: Orphan): Promise<void> {
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      // Checked before each signal, because the pid may have been reused.
      if (!(await this.#isStillOrphan(orphan))) return;
      signalGroup(orphan.pid, signal);
      const end = performance.now() + KILL_GRACE_MS;
      while (performance.now() < end && (await this.#isStillOrphan(orphan))) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async #isStillOrphan({ pid }: Orphan): Promise<boolean> {
    return (await this.#scan()).some((orphan) => orphan.pid === pid);
  }

  /** Never rejects. */
  async #scan(): Promise<readonly Orphan[]> {
    await Promise.all(this.#writing);
    const entries = await this.#entries();
    const pids = entries.flatMap(({ entry }) => (entry === undefined ? [] : [entry.pid, entry.gateway.pid]));
    const startTimes = await startTimesOf(pids);
    const isRunning = ({ pid, began }: ProcessIdentity): boolean => startTimes.get(pid) === began;
    const orphans: Orphan[] = [];
    for (const { file, entry } of entries) {
      if (entry === undefined || !isRunning(entry)) await this.#remove(file);
      else if (!isRunning(entry.gateway)) {
        const { pid, server, command } = entry;
        orphans.push({ pid, server, command });
      }
    }
    return orphans;
  }

  async #entries(): Promise<readonly { readonly file: string; readonly entry: Entry | undefined }[]> {
    // The folder is missing until the first write.
    const names = await readdir(this.#folder).catch(() => []);
    const files = names.filter((name) => name.endsWith(SUFFIX)).map((name) => join(this.#folder, name));
    return Promise.all(files.map(async (file) => ({ file, entry: await readEntry(file) })));
  }

  /** Never rejects. */
  async #write(file: string, pid: number, of: { server: string; command: string }): Promise<void> {
    const [identity, gateway] = await Promise.all([processIdentityOf(pid), this.#gateway]);
    if (identity === undefined || gateway === undefined) return;
    const entry: Entry = { ...identity, ...of, gateway };
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      // Atomic: a reader finds a whole entry or none.
      await writeFile(`${file}.new`, JSON.stringify(entry), { mode: 0o600 });
      await rename(`${file}.new`, file);
    } catch (error) {
      this.#logOnce(error);
    }
  }

  /** Never rejects: the next scan deletes a file that stays. */
  async #remove(file: string): Promise<void> {
    await rm(file, { force: true }).catch((error: unknown) => this.#logOnce(error));
  }

  #logOnce(error: unknown): void {
    if (this.#hasLogged) return;
    this.#hasLogged = true;
    this.#log.debug(
      { error, folder: this.#folder },
      "pid files cannot be written: orphans of a killed gateway will not be found",
    );
  }
}

async function processIdentityOf(pid: number): Promise<ProcessIdentity | undefined> {
  const began = (await startTimesOf([pid])).get(pid);
  return began === undefined ? undefined : { pid, began };
}

/** Undefined for an invalid or missing file. */
async function readEntry(file: string): Promise<Entry | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    return isEntry(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isEntry = (value: unknown): value is Entry =>
  isProcessIdentity(value) &&
  "server" in value &&
  typeof value.server === "string" &&
  "command" in value &&
  typeof value.command === "string" &&
  "gateway" in value &&
  isProcessIdentity(value.gateway);

const isProcessIdentity = (value: unknown): value is ProcessIdentity =>
  typeof value === "object" &&
  value !== null &&
  "pid" in value &&
  Number.isSafeInteger(value.pid) &&
  Number(value.pid) > 1 &&
  "began" in value &&
  typeof value.began === "string";

/** Identifies the machine, boot and pid namespace within which pids are unique. */
function pidNamespaceId(): string {
  try {
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8")} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Not Linux.
    return hostname();
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The process group has exited.
  }
}

/** One process, even if its pid is reused. */
interface ProcessIdentity {
  readonly pid: number;
  /** Its start time, in the system's own format. */
  readonly began: string;
}
