/** The lock beside a config: what it holds now, and what becomes of a file that is missing, broken or changed. */
import { type FSWatcher, watch } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { LIST_KINDS } from "../../../core/lists.js";
import { runSteps } from "../../../runtime/cooperative-yield.js";
import { digestDefinitions } from "./definition.js";
import { LOCK_FILE, type Lock, LockError, MAX_LOCK_LENGTH, readLock } from "./lock.js";

/** `absent`: there is no such file. `unusable`: why the file cannot be read. */
export type LockState =
  | { readonly kind: "good"; readonly lock: Lock }
  | { readonly kind: "absent" }
  | { readonly kind: "unusable"; readonly reason: string };

/** The path of the lock of a config. */
export const lockPath = (configFile: string): string => join(dirname(resolve(configFile)), LOCK_FILE);

/** Reads the file, and makes the digests of its definitions in steps. Never rejects. */
export async function readLockFile(file: string): Promise<LockState> {
  try {
    const { size } = await stat(file);
    if (size > MAX_LOCK_LENGTH) return unusable(`it is larger than ${MAX_LOCK_LENGTH} bytes`);
    const lock = readLock(await readFile(file, "utf8"));
    for (const { lists } of lock.servers.values())
      for (const kind of LIST_KINDS) await runSteps(digestDefinitions(kind, lists[kind]));
    return { kind: "good", lock };
  } catch (error) {
    if (error instanceof LockError) return unusable(error.message);
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    return code === "ENOENT" ? { kind: "absent" } : unusable(`it cannot be read (${code})`);
  }
}

const unusable = (reason: string): LockState => ({ kind: "unusable", reason });

/** File systems that send no events are polled (ms). */
const POLL_MS = 5_000;
/** Events within this time (ms) are one change. */
const SETTLE_MS = 50;

/** Calls `changed` with each new state of the file, until it is closed. */
export class LockWatch {
  readonly #file: string;
  readonly #changed: (state: LockState) => void;
  readonly #timer: NodeJS.Timeout;
  #settling: NodeJS.Timeout | undefined;
  #folder: FSWatcher | undefined;
  /** Of the file that was read last: its identity, size and time. */
  #seen: string;
  #reading: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(file: string, seen: string, changed: (state: LockState) => void) {
    this.#file = file;
    this.#changed = changed;
    this.#seen = seen;
    this.#timer = setInterval(() => this.#look(), POLL_MS);
    this.#timer.unref();
    this.#open();
  }

  /** Reads the file, and watches it from then on. */
  static async open(
    file: string,
    changed: (state: LockState) => void,
  ): Promise<{ readonly watch: LockWatch; readonly state: LockState }> {
    const seen = await printOf(file);
    const state = await readLockFile(file);
    return { watch: new LockWatch(file, seen, changed), state };
  }

  /** Reads the file now, whether it has changed or not. Resolves when that is done. */
  check(): Promise<void> {
    this.#seen = "";
    this.#look();
    return this.#reading;
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    clearTimeout(this.#settling);
    this.#drop();
  }

  /** One read at a time, in order. */
  #look(): void {
    this.#open();
    this.#reading = this.#reading.then(async () => {
      if (this.#isClosed) return;
      const print = await printOf(this.#file);
      if (print === this.#seen) return;
      const state = await readLockFile(this.#file);
      if (this.#isClosed) return;
      this.#seen = print;
      this.#changed(state);
    });
  }

  #lookSoon(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#look(), SETTLE_MS);
    this.#settling.unref();
  }

  #open(): void {
    if (this.#folder !== undefined || this.#isClosed) return;
    try {
      this.#folder = watch(dirname(this.#file), { persistent: false }, (_event, name) => {
        if (name === null || name === LOCK_FILE) this.#lookSoon();
      });
      this.#folder.on("error", () => this.#drop());
    } catch {
      // The folder is missing, or no watches are left: polling must suffice.
      this.#folder = undefined;
    }
  }

  #drop(): void {
    this.#folder?.close();
    this.#folder = undefined;
  }
}

const printOf = (file: string): Promise<string> =>
  stat(file).then(
    ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
    () => "absent",
  );
