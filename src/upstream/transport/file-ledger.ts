/**
 * Which process runs on behalf of which gateway, in files where the next gateway finds them. A gateway that is
 * killed can end nobody; most servers end when their input does, and this is for those that do not.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Logger } from "../../core/logger.js";
import type { Orphan, ProcessLedger } from "./process-ledger.js";

interface Life {
  readonly pid: number;
  /** When it began, in words of the system: another process under the same number began at another time. */
  readonly began: string;
}

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
  readonly #gateway: Life | undefined;
  #complained = false;

  constructor({ folder, log, gateway }: FileLedgerOptions) {
    // Numbers of processes mean something on one machine, from one start of it to the next, in one container.
    this.#folder = join(folder, createHash("sha256").update(neighbourhood()).digest("hex").slice(0, 16));
    this.#log = log;
    this.#gateway = gateway ?? lifeOf(process.pid);
  }

  note(pid: number, server: string, command: string): () => void {
    const life = lifeOf(pid);
    if (life === undefined || this.#gateway === undefined) return () => {};
    const entry: Entry = { ...life, server, command, gateway: this.#gateway };
    const file = join(this.#folder, `${pid}${SUFFIX}`);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      // Whoever looks must find a whole entry or none.
      writeFileSync(`${file}.new`, JSON.stringify(entry), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    } catch (error) {
      this.#complain(error);
      return () => {};
    }
    return () => rmSync(file, { force: true });
  }

  /** What is written of processes that have ended is thrown away. */
  orphans(): readonly Orphan[] {
    return this.#entries().flatMap(({ file, entry }): Orphan[] => {
      if (entry === undefined || !isLiving(entry)) {
        rmSync(file, { force: true });
        return [];
      }
      const { pid, server, command, gateway } = entry;
      return isLiving(gateway) ? [] : [{ pid, server, command }];
    });
  }

  /** Ends an orphan with all that it has started: SIGTERM, and SIGKILL when that is not enough. */
  async end(orphan: Orphan): Promise<void> {
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      // Looked at again before each signal, because a number that has become free may be somebody else's.
      if (!this.#isStill(orphan)) return;
      signalGroup(orphan.pid, signal);
      const end = performance.now() + PATIENCE_MS;
      while (performance.now() < end && this.#isStill(orphan)) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  #isStill({ pid }: Orphan): boolean {
    return this.orphans().some((orphan) => orphan.pid === pid);
  }

  #entries(): readonly { readonly file: string; readonly entry: Entry | undefined }[] {
    try {
      return readdirSync(this.#folder)
        .filter((name) => name.endsWith(SUFFIX))
        .map((name) => {
          const file = join(this.#folder, name);
          return { file, entry: readEntry(file) };
        });
    } catch {
      // There is no such folder as long as nothing was written down.
      return [];
    }
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

/** Undefined for what is no entry, or has gone. */
function readEntry(file: string): Entry | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
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

const isLiving = ({ pid, began }: Life): boolean => lifeOf(pid)?.began === began;

/** Undefined when there is no such process, or nobody can tell when it began. */
function lifeOf(pid: number): Life | undefined {
  try {
    if (process.platform === "win32") return undefined;
    const began = process.platform === "linux" ? beganOnLinux(pid) : beganElsewhere(pid);
    return began === undefined ? undefined : { pid, began };
  } catch {
    return undefined;
  }
}

function beganOnLinux(pid: number): string | undefined {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name of the program, in parentheses, may contain anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? undefined : fields[19];
}

function beganElsewhere(pid: number): string | undefined {
  const text = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim();
  return text === "" ? undefined : text;
}

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
