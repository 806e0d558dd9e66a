/** Sessions that outlive their process on one machine: a sealed record of each in a folder, adopted by the next process. */
import { lstatSync, mkdirSync } from "node:fs";
import { readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import type { Principal } from "../../core/client.js";
import { overloaded } from "../../core/errors.js";
import { inBackground, type Logger } from "../../core/logger.js";
import type { AdoptedSession, SessionRecords, SessionState } from "../../core/replicas.js";
import { withTimeout } from "../../core/stop.js";
import { codeOf, OTHERS_MAY_NOT, readPrivateFile } from "../private-file.js";
import { readStateKey, writeStateKey } from "../state-key.js";
import { FOLDER_TIMES, type FolderTimes, ProcessFolders, type ProcessToken } from "./process-folders.js";
import { SessionSeal } from "./sealed-session.js";

/** The folder, and the gateway whose sessions it has. */
export interface SessionFilesOptions {
  /** Created with mode 0700 if missing. Several gateways may share it. */
  readonly folder: string;
  /** Names the gateway over its restarts, such as the path of its config. */
  readonly scope: string;
  /** Seals the records, where the config has one. Default: a random key in the folder. */
  readonly secret?: string | undefined;
  readonly log: Logger;
  /** A session that was not used for this time (ms) is not adopted. Default 30 minutes, as long as one may be idle. */
  readonly idleMs?: number;
  readonly times?: FolderTimes;
  /** Records that ended processes may leave behind; the oldest are removed. Default 10,000: as many sessions may be open. */
  readonly maxLeft?: number;
  /** The process that makes the records. Default: this one. */
  readonly self?: ProcessToken;
}

const IDLE_MS = 30 * 60_000;
/** How often records are brought up to date with the use of their sessions, and old ones removed, in ms. */
const RENEW_MS = 5 * 60_000;
const CLOSE_MS = 5_000;
const RETRY_MS = 1_000;
/** What a session may keep of its host's words, and some more. */
const MAX_BYTES = 512 * 1024;
const MAX_LEFT = 10_000;
/** Sessions that have ended here, so that their ids lead to no look at the folder. */
const MAX_ENDED = 10_000;
const SUFFIX = ".session";
const DRAFT_SUFFIX = ".tmp";
/** The id of a session of this program. */
const ID = /^(?:[0-9a-z]{1,8}-)?[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

interface Held {
  readonly state: SessionState;
  /** When it was last used as far as its record says, by the time of day in ms. */
  readonly at: number;
}

/** The records of one process. A failure of the disk is logged once: sessions then end with their process. */
export class SessionFiles implements SessionRecords {
  idleMsOf?: NonNullable<SessionRecords["idleMsOf"]>;
  readonly #options: SessionFilesOptions;
  readonly #folders: ProcessFolders;
  /** Sessions of this process, and those that have a file. */
  readonly #held = new Map<string, Held>();
  readonly #onDisk = new Set<string>();
  readonly #ended = new LRUCache<string, true>({ max: MAX_ENDED });
  /** Sessions whose files have to change: written one after the other, so that the thread pool stays available. */
  readonly #pending = new Map<string, PromiseWithResolver>();
  #isDraining = false;
  #drained: Promise<void> = Promise.resolve();
  readonly #renewal: NodeJS.Timeout;
  #seal: SessionSeal | undefined;
  #key = "";
  #isOpen = false;
  #isClosed = false;
  #hasWarned = false;

  constructor(options: SessionFilesOptions) {
    this.#options = options;
    this.#folders = new ProcessFolders(options.folder, options.times ?? FOLDER_TIMES, options.self);
    this.#renewal = setInterval(() => {
      this.#renew();
      inBackground(this.#removeOld(), options.log, "removing old records of sessions");
    }, RENEW_MS);
    this.#renewal.unref();
  }

  write(id: string, state: SessionState): Promise<void> | undefined {
    this.#held.set(id, { state, at: Date.now() });
    this.#queue(id);
    return this.#pending.get(id)?.promise;
  }

  remove(id: string): void {
    this.#held.delete(id);
    this.#ended.set(id, true);
    if (this.#onDisk.has(id) || this.#isDraining) this.#queue(id);
  }

  release(id: string): void {
    this.#held.delete(id);
  }

  mayAdopt(id: string): boolean {
    return !this.#isClosed && ID.test(id) && !this.#held.has(id) && !this.#ended.has(id);
  }

  async adopt(id: string, principal: Principal, endpoint: string): Promise<AdoptedSession | undefined> {
    const seal = this.#opened();
    if (seal === undefined || !this.mayAdopt(id)) return undefined;
    const file = `${seal.nameOf(id)}${SUFFIX}`;
    for (const folder of await this.#folders.all()) {
      const path = join(folder.path, file);
      const found = readPrivateFile(path, MAX_BYTES, OTHERS_MAY_NOT.readOrWrite);
      if (found === undefined) continue;
      const record = found.ok ? seal.open(id, found.bytes) : undefined;
      if (record === undefined) {
        const { folder: root, log } = this.#options;
        const reason = found.ok ? "it is not what this gateway has written" : found.reason;
        log.warn({ folder: root }, `the record of a session is not used: ${reason}`);
        continue;
      }
      if (record.principal !== seal.digestOf(principal) || record.endpoint !== endpoint) return undefined;
      if (!this.#isFresh(record.at)) return undefined;
      if (!folder.isOwn && !(await this.#take(folder, file))) continue;
      this.#held.set(id, { state: { ...record, principal }, at: record.at });
      this.#onDisk.add(id);
      return { ...record, from: FROM };
    }
    return undefined;
  }

  async move(): Promise<boolean> {
    return false;
  }

  stopping(): void {
    this.#renew();
  }

  /** The sessions are for the next process. Resolves when all is written, or the disk does not respond for CLOSE_MS. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#renewal);
    await withTimeout(CLOSE_MS, this.#drained);
    await withTimeout(CLOSE_MS, this.#folders.leave());
  }

  /**
   * Moves a file of a process that is gone into the folder of this one; false if the disk does not let it.
   *
   * @throws GatewayError `overloaded` while its process runs, or may run, and where another process was first
   */
  async #take(folder: { readonly path: string; readonly name: string }, file: string): Promise<boolean> {
    const state = await this.#folders.stateOf(folder.name);
    if (state !== "gone") {
      const who =
        state === "running"
          ? "another process of this machine serves"
          : "it is not certain yet which process serves";
      throw overloaded(`${who} the session`, RETRY_MS);
    }
    try {
      await rename(join(folder.path, file), join(await this.#folders.own(), file));
      return true;
    } catch (error) {
      if (codeOf(error) === "ENOENT")
        throw overloaded("another process of this machine has just taken the session over", RETRY_MS);
      this.#warnOnce(error);
      return false;
    }
  }

  /** Undefined if the folder cannot be used. */
  #opened(): SessionSeal | undefined {
    if (this.#isOpen) return this.#seal;
    this.#isOpen = true;
    const { folder, scope, secret, log } = this.#options;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (!lstatSync(folder).isDirectory()) throw new Error("it is a link");
      const { key, replaced } = readStateKey(folder);
      if (replaced !== undefined)
        log.warn(
          { folder },
          `the key of kept sessions is not used (${replaced}); earlier sessions have ended`,
        );
      this.#key = key;
      this.#seal = new SessionSeal(secret ?? key, scope);
      inBackground(this.#removeOld(), log, "removing old records of sessions");
    } catch (error) {
      this.#warnOnce(error);
    }
    return this.#seal;
  }

  #queue(id: string): void {
    const seal = this.#opened();
    if (seal === undefined || this.#isClosed) return;
    if (!this.#pending.has(id)) this.#pending.set(id, resolver());
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#drained = this.#drain(seal);
  }

  /** Ids that are added meanwhile come last. Never rejects. */
  async #drain(seal: SessionSeal): Promise<void> {
    // `write` reads the promise of what it has queued.
    await Promise.resolve();
    for (const [id, { resolve }] of this.#pending) {
      this.#pending.delete(id);
      const held = this.#held.get(id);
      try {
        if (held !== undefined) await this.#store(seal, id, held);
        else if (this.#onDisk.delete(id)) {
          await rm(join(await this.#folders.own(), `${seal.nameOf(id)}${SUFFIX}`), { force: true });
        }
      } catch (error) {
        this.#warnOnce(error);
      }
      resolve();
    }
    this.#isDraining = false;
  }

  async #store(seal: SessionSeal, id: string, { state, at }: Held): Promise<void> {
    const bytes = seal.seal(id, state, at);
    const name = `${seal.nameOf(id)}${SUFFIX}`;
    if (bytes.length > MAX_BYTES) {
      this.#options.log.debug({ session: id.slice(0, 8) }, "a session is too large to outlive its process");
      return;
    }
    const write = async (): Promise<void> => {
      const path = join(await this.#folders.own(), name);
      // A first record that was cut by the end of the process is none: its seal is wrong.
      if (!this.#onDisk.has(id)) return writeFile(path, bytes, { mode: 0o600 });
      await writeFile(`${path}${DRAFT_SUFFIX}`, bytes, { mode: 0o600 });
      // Atomic: a reader finds the old or the new record.
      await rename(`${path}${DRAFT_SUFFIX}`, path);
    };
    await write().catch(async (error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error;
      // The folder was deleted at runtime.
      mkdirSync(this.#options.folder, { recursive: true, mode: 0o700 });
      writeStateKey(this.#options.folder, this.#key);
      this.#folders.lost();
      await write();
    });
    this.#onDisk.add(id);
  }

  /** Records of sessions that were used since are written again. */
  #renew(): void {
    const now = Date.now();
    for (const [id, { state, at }] of this.#held) {
      const idleMs = this.idleMsOf?.(id);
      if (idleMs === undefined || now - idleMs <= at) continue;
      this.#held.set(id, { state, at: now - idleMs });
      this.#queue(id);
    }
  }

  #isFresh(at: number): boolean {
    return Math.abs(Date.now() - at) <= (this.#options.idleMs ?? IDLE_MS) + RENEW_MS;
  }

  /** Removes records that are too old to be adopted, of processes that are gone. */
  async #removeOld(): Promise<void> {
    const left: { readonly path: string; readonly at: number }[] = [];
    for (const { name, path, isOwn } of await this.#folders.all()) {
      if (isOwn || (await this.#folders.stateOf(name)) !== "gone") continue;
      for (const file of await readdir(path).catch(() => [])) {
        if (!file.endsWith(SUFFIX) && !file.endsWith(DRAFT_SUFFIX)) continue;
        const stats = await stat(join(path, file)).catch(() => undefined);
        if (stats !== undefined) left.push({ path: join(path, file), at: stats.mtimeMs });
      }
    }
    left.sort((one, two) => two.at - one.at);
    const old = left.filter(
      ({ at }, place) => !this.#isFresh(at) || place >= (this.#options.maxLeft ?? MAX_LEFT),
    );
    for (const { path } of old) await rm(path, { force: true }).catch(() => {});
    await this.#folders.removeEmpty();
  }

  #warnOnce(error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { folder, log } = this.#options;
    log.warn(
      { folder, error },
      `sessions cannot be kept in ${folder} (${codeOf(error)}): they end with this process; --state-dir names another folder`,
    );
  }
}

interface PromiseWithResolver {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function resolver(): PromiseWithResolver {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Where an adopted session comes from, for the log. */
const FROM = "an earlier process";
