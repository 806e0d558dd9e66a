/** A cache of servers' lists between two runs of the gateway: one folder, one file per server, unused ones deleted. */
import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync } from "node:fs";
import { lstat, open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../core/logger.js";
import { type KeptServer, NOT_KEPT, type ServerStore } from "../../core/persisted-lists.js";
import { withTimeout } from "../../core/stop.js";
import { codeOf } from "../../state/private-file.js";
import { hmac, readStateKey, writeStateKey } from "../../state/state-key.js";
import { ServerFile } from "./server-file.js";

/** The folder and its user. */
export interface ListFilesOptions {
  /** Created with mode 0700 if missing. */
  readonly folder: string;
  /** The version of the gateway. */
  readonly version: string;
  readonly log: Logger;
  /** Creates a file with this text and syncs it to disk. @throws the system error */
  readonly createFile?: (file: string, text: readonly string[]) => Promise<void>;
}

/** The files of one process. Failures are logged, never errors of the gateway: lists are then loaded again. */
export class ListFiles {
  readonly #options: ListFilesOptions;
  /** Undefined before the first use, and if the folder cannot be used. */
  #key: string | undefined;
  #isOpen = false;
  #hasWarned = false;
  /** Writes run one after the other, so that the thread pool stays available. */
  #writes: Promise<void> = Promise.resolve();
  #cleaning: Promise<void> = Promise.resolve();

  constructor(options: ListFilesOptions) {
    this.#options = options;
  }

  /** The cached state of this server, read synchronously. */
  open({ name, identity }: KeptServer): ServerStore {
    const { folder, version, log } = this.#options;
    if (!this.#isOpen) this.#openFolder();
    const key = this.#key;
    if (key === undefined) return NOT_KEPT;
    return new ServerFile({
      server: name,
      path: join(folder, `${hmac(key, "name\n", identity).digest("hex").slice(0, NAME_LENGTH)}${SUFFIX}`),
      version,
      log,
      seal: (head) => hmac(key, "file\n", identity, "\n", head, "\n"),
      write: (path, text) => this.#write(key, path, text),
    });
  }

  /** Resolves when no write or removal is pending, or the disk does not respond for CLOSE_MS. */
  async close(): Promise<void> {
    await withTimeout(CLOSE_MS, Promise.all([this.#writes, this.#cleaning]));
  }

  #openFolder(): void {
    const { folder, log } = this.#options;
    this.#isOpen = true;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (!lstatSync(folder).isDirectory()) throw new Error("it is a link");
      const { key, replaced } = readStateKey(folder);
      this.#key = key;
      if (replaced !== undefined) {
        log.warn({ folder }, `the key of kept lists is not used (${replaced}); lists are loaded again`);
      }
      this.#cleaning = removeOldFiles(folder, isOwnName).catch((error: unknown) =>
        log.debug({ folder, error }, "old lists cannot be removed"),
      );
    } catch (error) {
      this.#warnOnce(error);
    }
  }

  /** Resolves to whether it was written; never rejects. */
  #write(key: string, path: string, text: readonly string[]): Promise<boolean> {
    const written = this.#writes.then(() => this.#replace(key, path, text));
    this.#writes = written.then(() => {});
    return written;
  }

  async #replace(key: string, path: string, text: readonly string[]): Promise<boolean> {
    const { folder, createFile = createDurably } = this.#options;
    const draft = `${path}.${randomBytes(8).toString("hex")}${DRAFT_SUFFIX}`;
    const write = async (): Promise<void> => {
      await createFile(draft, text);
      // Atomic: a reader finds the old or the new file.
      await rename(draft, path);
    };
    try {
      await write().catch(async (error: unknown) => {
        if (codeOf(error) !== "ENOENT") throw error;
        // The folder was deleted at runtime.
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeStateKey(folder, key);
        await write();
      });
      return true;
    } catch (error) {
      await rm(draft, { force: true }).catch(() => {});
      this.#warnOnce(error);
      return false;
    }
  }

  #warnOnce(error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { folder, log } = this.#options;
    const sentence = `lists cannot be kept in ${folder} (${codeOf(error)}): the next start loads them from the servers`;
    log.warn({ folder, error }, `${sentence}; --state-dir names another folder`);
  }
}

const CLOSE_MS = 5_000;
const SUFFIX = ".lists";
const NAME_LENGTH = 32;

const isOwnName = (name: string): boolean =>
  /^[\da-f]{32}\.lists(?:\.[\da-f]{16}\.tmp)?$|^key\.[\da-f]{16}\.tmp$/.test(name);

async function createDurably(file: string, text: readonly string[]): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await writeFile(handle, text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A file unused for this time (ms) belongs to a server that is no longer configured. */
const MAX_AGE_MS = 30 * 24 * 3_600_000;
/** A temporary file of this age (ms) was left by a killed gateway. */
const MAX_DRAFT_AGE_MS = 3_600_000;
/** Maximum files; the least recently used ones are deleted. */
const MAX_FILES = 1_000;

/** The suffix of a temporary file. */
const DRAFT_SUFFIX = ".tmp";

interface FileAge {
  readonly file: string;
  readonly ageMs: number;
}

/**
 * Deletes unused files of `folder` with a name that `isOwn` accepts. Links and files of other programs stay.
 *
 * @throws the system error
 */
async function removeOldFiles(folder: string, isOwn: (name: string) => boolean): Promise<void> {
  const ages = await agesOf(folder, (await readdir(folder)).filter(isOwn));
  const isDraft = ({ file }: FileAge): boolean => file.endsWith(DRAFT_SUFFIX);
  const drafts = ages.filter(isDraft).filter(({ ageMs }) => ageMs > MAX_DRAFT_AGE_MS);
  const kept = ages.filter((one) => !isDraft(one)).sort((a, b) => a.ageMs - b.ageMs);
  const old = kept.filter(({ ageMs }, place) => ageMs > MAX_AGE_MS || place >= MAX_FILES);
  for (const { file } of [...drafts, ...old]) await rm(file, { force: true });
}

async function agesOf(folder: string, names: readonly string[]): Promise<readonly FileAge[]> {
  const now = Date.now();
  const ages: FileAge[] = [];
  for (const name of names) {
    const file = join(folder, name);
    // Another gateway may have removed it.
    const stats = await lstat(file).catch(() => undefined);
    if (stats?.isFile() === true) ages.push({ file, ageMs: now - stats.mtimeMs });
  }
  return ages;
}
