/**
 * Which process runs on behalf of which gateway, in files where the next gateway finds them. A gateway that is
 * killed can end nobody; most servers end when their input does, and this is for those that do not.
 */
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Logger } from "../../core/logger.js";
import type { Orphan, ProcessLedger } from "./process-ledger.js";
import { type Life, livesOf } from "./process-lives.js";

interface Entry extends Life, Orphan {
  readonly gateway: Life;
}

export interface FileLedgerOptions {
  /** Made when it is not there; nobody else may look into it. */
  readonly folder: string;
  readonly log: Logger;
  /** On whose behalf processes are noted. Default: this process. */
  readonly gateway?: Life;
}

/** How long (ms) an orphan may take to end when it is told to. */
const PATIENCE_MS = 2_000;
const SUFFIX = ".json";

/** One file for each process, so that gateways that run at the same time do not get in each other's way. */
export class FileLedger implements ProcessLedger {
  readonly #folder: string;
  readonly #log: Logger;
  readonly #gateway: Promise<Life | undefined>;
  /** Entries that are being written. */
  readonly #writing = new Set<Promise<void>>();
  #looking: Promise<readonly Orphan[]> | undefined;
  #complained = false;

  constructor({ folder, log, gateway }: FileLedgerOptions) {
    // Numbers of processes mean something on one machine, from one start of it to the next, in one container.
    this.#folder = join(folder, createHash("sha256").update(neighbourhood()).digest("hex").slice(0, 16));
    this.#log = log;
    this.#gateway = gateway === undefined ? lifeOf(process.pid) : Promise.resolve(gateway);
  }

  note(pid: number, server: string, command: string): () => Promise<void> {
    const file = join(this.#folder, `${pid}${SUFFIX}`);
    const written = this.#write(file, pid, { server, command }).finally(() => this.#writing.delete(written));
    this.#writing.add(written);
    return () => written.then(() => this.#remove(file));
  }

  /** What is written of processes that have ended is thrown away. Those who ask at the same time share the answer. */
  orphans(): Promise<readonly Orphan[]> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Ends an orphan with all that it has started: SIGTERM, and SIGKILL when that is not enough. */
  async end(orphan: Orphan): Promise<void> {
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      // Looked at again before each signal, because a number that has become free may be somebody else's.
      if (!(await this.#isStill(orphan))) return;
      signalGroup(orphan.pid, signal);
      const end = performance.now() + PATIENCE_MS;
      while (performance.now() < end && (await this.#isStill(orphan))) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async #isStill({ pid }: Orphan): Promise<boolean> {
    return (await this.#look()).some((orphan) => orphan.pid === pid);
  }

  /** Never rejects. */
  async #look(): Promise<readonly Orphan[]> {
    await Promise.all(this.#writing);
    const entries = await this.#entries();
    const pids = entries.flatMap(({ entry }) => (entry === undefined ? [] : [entry.pid, entry.gateway.pid]));
    const lives = await livesOf(pids);
    const isLiving = ({ pid, began }: Life): boolean => lives.get(pid) === began;
    const orphans: Orphan[] = [];
    for (const { file, entry } of entries) {
      if (entry === undefined || !isLiving(entry)) await this.#remove(file);
      else if (!isLiving(entry.gateway)) {
        const { pid, server, command } = entry;
        orphans.push({ pid, server, command });
      }
    }
    return orphans;
  }

  async #entries(): Promise<readonly { readonly file: string; readonly entry: Entry | undefined }[]> {
    // There is no such folder as long as nothing was written down.
    const names = await readdir(this.#folder).catch(() => []);
    const files = names.filter((name) => name.endsWith(SUFFIX)).map((name) => join(this.#folder, name));
    return Promise.all(files.map(async (file) => ({ file, entry: await readEntry(file) })));
  }

  /** Never rejects. */
  async #write(file: string, pid: number, of: { server: string; command: string }): Promise<void> {
    const [life, gateway] = await Promise.all([lifeOf(pid), this.#gateway]);
    if (life === undefined || gateway === undefined) return;
    const entry: Entry = { ...life, ...of, gateway };
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      // Whoever looks must find a whole entry or none.
      await writeFile(`${file}.new`, JSON.stringify(entry), { mode: 0o600 });
      await rename(`${file}.new`, file);
    } catch (error) {
      this.#complain(error);
    }
  }

  /** Never rejects: a file that stays is thrown away by whoever looks next. */
  async #remove(file: string): Promise<void> {
    await rm(file, { force: true }).catch((error: unknown) => this.#complain(error));
  }

  #complain(error: unknown): void {
    if (this.#complained) return;
    this.#complained = true;
    this.#log.debug(
      { error, folder: this.#folder },
      "processes cannot be written down; should the gateway be killed, those left behind will not be found",
    );
  }
}

async function lifeOf(pid: number): Promise<Life | undefined> {
  const began = (await livesOf([pid])).get(pid);
  return began === undefined ? undefined : { pid, began };
}

/** Undefined for what is no entry, or has gone. */
async function readEntry(file: string): Promise<Entry | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    return isEntry(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isEntry = (value: unknown): value is Entry =>
  isLife(value) &&
  "server" in value &&
  typeof value.server === "string" &&
  "command" in value &&
  typeof value.command === "string" &&
  "gateway" in value &&
  isLife(value.gateway);

const isLife = (value: unknown): value is Life =>
  typeof value === "object" &&
  value !== null &&
  "pid" in value &&
  Number.isSafeInteger(value.pid) &&
  Number(value.pid) > 1 &&
  "began" in value &&
  typeof value.began === "string";

/** What must be the same for a number to mean the same process. */
function neighbourhood(): string {
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
    // It has ended by itself in the meantime.
  }
}
