/** What is kept of sign-ins in progress, so that any worker can go on with them: sealed files that end by themselves. */
import { createHash } from "node:crypto";
import { lstat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "../core/errors.js";
import type { KeySource } from "../vault/key-source.js";
import { RecordFiles, type RecordName } from "../vault/record-files.js";
import type { LoginState, StateRecord, TicketRecord } from "./pending-content.js";

/** What each kind of record holds; its id is the ticket, `state` or login. */
interface Content {
  readonly ticket: TicketRecord;
  readonly state: StateRecord;
  readonly login: LoginState;
}

type Kind = keyof Content;

/** Where the records are. */
export interface PendingRecordsOptions {
  /** `sign-ins` in the state folder. */
  readonly folder: string;
  /** Those of the vault. */
  readonly keys: KeySource;
  /** ms since 1970. */
  readonly now: () => number;
  /** The most records at once. Default: 2000. */
  readonly limit?: number;
}

/** How long a record of each kind may be used, in ms. */
const LIFE_MS: Readonly<Record<Kind, number>> = {
  ticket: 1_800_000,
  state: 600_000,
  login: 1_800_000,
};
const MAX_LIFE_MS = Math.max(...Object.values(LIFE_MS));
const MAX_RECORDS = 2_000;

interface Kept<K extends Kind> {
  readonly until: number;
  readonly content: Content[K];
}

/** Reads, writes and takes records. Ids are secrets: only their digests are on the disk. */
export class PendingRecords {
  readonly #files: RecordFiles;
  #opened: Promise<void> | undefined;

  constructor(private readonly options: PendingRecordsOptions) {
    this.#files = new RecordFiles(options);
  }

  /** Keeps `content` for as long as its kind may be used. @throws VaultError, or GatewayError `overloaded` */
  async put<K extends Kind>(kind: K, id: string, content: Content[K]): Promise<void> {
    await this.#open();
    const { limit = MAX_RECORDS, now } = this.options;
    if ((await this.#sweep()) >= limit) {
      const sentence = `${limit} sign-ins are in progress; the next one can begin in a few minutes`;
      throw new GatewayError("overloaded", "gateway", sentence, { retryable: true });
    }
    await this.#write(kind, id, { until: now() + LIFE_MS[kind], content });
  }

  /** Writes a record anew that keeps its end; nothing where it is not there any more. @throws VaultError */
  async replace<K extends Kind>(kind: K, id: string, content: Content[K]): Promise<void> {
    const kept = await this.#read(kind, id);
    if (kept !== undefined) await this.#write(kind, id, { until: kept.until, content });
  }

  /** The record; undefined where there is none any more. @throws VaultError */
  async read<K extends Kind>(kind: K, id: string): Promise<Content[K] | undefined> {
    return (await this.#read(kind, id))?.content;
  }

  /** The record, once: of all who take it, in any process, only one gets it. @throws VaultError */
  async take<K extends Kind>(kind: K, id: string): Promise<Content[K] | undefined> {
    const kept = await this.#read(kind, id);
    if (kept === undefined) return undefined;
    return (await this.#remove(nameOf(kind, id).file)) ? kept.content : undefined;
  }

  async #read<K extends Kind>(kind: K, id: string): Promise<Kept<K> | undefined> {
    await this.#open();
    const kept = (await this.#files.read(nameOf(kind, id)))?.value as Kept<K> | undefined;
    return kept !== undefined && kept.until > this.options.now() ? kept : undefined;
  }

  #write<K extends Kind>(kind: K, id: string, kept: Kept<K>): Promise<void> {
    return this.#files.write(nameOf(kind, id), kept);
  }

  #open(): Promise<void> {
    this.#opened ??= this.#files.open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  /** Whether this call has removed the file. */
  async #remove(file: string): Promise<boolean> {
    try {
      await unlink(join(this.options.folder, file));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
      throw error;
    }
  }

  /** Removes what is older than any record may be; returns how many are left. */
  async #sweep(): Promise<number> {
    const names = await this.#files.names();
    let left = 0;
    for (const { file } of names) {
      const stats = await lstat(join(this.options.folder, file)).catch(() => undefined);
      const isOld = stats !== undefined && stats.mtimeMs + MAX_LIFE_MS < this.options.now();
      if (isOld) await this.#remove(file);
      else if (stats !== undefined) left += 1;
    }
    return left;
  }
}

const nameOf = (kind: Kind, id: string): RecordName => ({
  file: createHash("sha256").update(`${kind}\0${id}`).digest("base64url"),
  what: "a sign-in in progress",
  remedy: "sign in again",
});
