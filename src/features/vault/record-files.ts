/** Records as files: one folder, one sealed file per record, readable by this user only. */
import { lstatSync, type Stats, watch } from "node:fs";
import { lstat, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, readPrivateFile } from "../../state/private-file.js";
import { removeDurably, removeOldDrafts, replaceDurably } from "./durable-files.js";
import { OTHERS_MAY_NOTHING } from "./key-source.js";
import { type HeldLock, ProcessLocks } from "./process-lock.js";
import { isRecordFile, nameOfFile, type RecordName } from "./record-names.js";
import type { Records, RecordsOptions, StoredRecord } from "./records.js";
import { MAX_RECORD_BYTES, sealed, unsealed } from "./sealed-content.js";
import { VaultError } from "./vault-error.js";

/** Records in a folder, with locks between the processes of this user. */
export class RecordFiles implements Records {
  readonly #options: Omit<RecordsOptions, "shared">;
  readonly #locks: ProcessLocks;

  constructor(options: Omit<RecordsOptions, "shared">) {
    this.#options = options;
    this.#locks = new ProcessLocks(options.folder, options.lockTimes);
  }

  /** Creates the folder, checks its owner, and removes what killed processes left behind. @throws VaultError */
  async open(): Promise<void> {
    const { folder } = this.#options;
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      this.#checkFolder();
      await removeOldDrafts(folder);
    } catch (error) {
      if (error instanceof VaultError) throw error;
      throw diskError(`credentials cannot be stored in ${folder}`, error);
    }
  }

  async read(name: RecordName): Promise<{ readonly value: unknown; readonly kid: string } | undefined> {
    this.#checkFolder();
    const path = join(this.#options.folder, name.file);
    const found = readPrivateFile(path, MAX_RECORD_BYTES, OTHERS_MAY_NOTHING);
    if (found === undefined) return undefined;
    if (!found.ok) {
      throw new VaultError(
        "permissions",
        `${name.what} is not used: ${path}: ${found.reason}; the file must be yours alone (chmod 600 ${path})`,
      );
    }
    return unsealed(found.bytes, name, this.#options.keys, path);
  }

  async write(name: RecordName, value: unknown): Promise<void> {
    const { folder, keys, createFile } = this.#options;
    await this.#makeFolder();
    const bytes = await sealed(value, name, keys);
    try {
      await replaceDurably(join(folder, name.file), bytes, createFile);
    } catch (error) {
      throw diskError(`${name.what} cannot be written to ${folder}; the previous record is unchanged`, error);
    }
  }

  remove(name: RecordName): Promise<boolean> {
    const path = join(this.#options.folder, name.file);
    return removeDurably(path).catch((error: unknown) => {
      throw diskError(`${name.what} cannot be removed from ${path}`, error);
    });
  }

  async list(): Promise<readonly StoredRecord[]> {
    const { folder } = this.#options;
    const files = await readdir(folder).catch((error: unknown) => {
      throw diskError(`${folder} cannot be read`, error);
    });
    const found: StoredRecord[] = [];
    for (const file of files) {
      if (!isRecordFile(file)) continue;
      // Another process may have removed it.
      const stats = await lstat(join(folder, file)).catch(() => undefined);
      if (stats !== undefined) found.push({ ...nameOfFile(file), writtenAt: stats.mtimeMs });
    }
    return found;
  }

  lock(name: RecordName): Promise<HeldLock> {
    return this.#locks.acquire(name.file);
  }

  watch(listener: (file: string) => void): () => void {
    const { folder, logger } = this.#options;
    try {
      const watcher = watch(folder, { persistent: false }, (_event, file) => {
        if (file !== null && isRecordFile(file)) listener(file);
      });
      watcher.on("error", (error) => logger.warn({ folder, error }, UNWATCHED));
      return () => watcher.close();
    } catch (error) {
      logger.warn({ folder, error }, UNWATCHED);
      return () => {};
    }
  }

  /** The folder may have been deleted at runtime. */
  async #makeFolder(): Promise<void> {
    const { folder } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
      throw diskError(`credentials cannot be stored in ${folder}`, error);
    });
    this.#checkFolder();
  }

  /** @throws VaultError if others may read the folder */
  #checkFolder(): void {
    const { folder } = this.#options;
    let stats: Stats;
    try {
      stats = lstatSync(folder);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return;
      throw diskError(`${folder} cannot be read`, error);
    }
    const reason = folderFault(stats);
    if (reason === undefined) return;
    throw new VaultError(
      "permissions",
      `credentials in ${folder} are not used: ${reason}; the folder must be yours alone (chmod 700 ${folder})`,
    );
  }
}

const UNWATCHED =
  "sign-ins of other processes are noticed at the next call only: the folder of credentials cannot be watched";

function folderFault(stats: Stats): string | undefined {
  if (!stats.isDirectory()) return "it is no folder";
  if (process.getuid === undefined) return undefined;
  if (stats.uid !== process.getuid()) return "it belongs to another user";
  return (stats.mode & OTHERS_MAY_NOTHING) === 0 ? undefined : "its permissions let others in";
}

const diskError = (what: string, error: unknown): VaultError =>
  new VaultError("disk", `${what} (${codeOf(error)})`, { cause: error });
