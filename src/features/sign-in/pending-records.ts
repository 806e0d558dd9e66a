/**
 * Sealed, expiring records of sign-ins in progress, so that any worker or replica can continue them. Each principal has
 * a share of its own.
 */
import { createHash } from "node:crypto";
import type { RecordName } from "../vault/record-names.js";
import type { Records } from "../vault/records.js";
import { TaskQueues } from "../vault/task-queues.js";
import { VaultError } from "../vault/vault-error.js";
import type { LoginState, StateRecord, TicketRecord } from "./pending-content.js";

/** The content of each kind of record; its id is the ticket, `state` or login. */
interface Content {
  readonly ticket: TicketRecord;
  readonly state: StateRecord;
  readonly login: LoginState;
}

type Kind = keyof Content;

/** Location of the records. */
export interface PendingRecordsOptions {
  /** `sign-ins` of the state folder or of the store, encrypted with its keys. */
  readonly records: Records;
  /** ms since 1970. */
  readonly now: () => number;
  /** Records per principal. Default: 60, which are 20 sign-ins. */
  readonly share?: number;
  /** Beyond this number of records in all, a principal has one sign-in. Default: 20,000. */
  readonly limit?: number;
}

/** The lifetime of each kind of record in ms. */
const LIFE_MS: Readonly<Record<Kind, number>> = {
  ticket: 1_800_000,
  state: 600_000,
  login: 1_800_000,
};
const MAX_LIFE_MS = Math.max(...Object.values(LIFE_MS));
const SHARE = 60;
const MAX_RECORDS = 20_000;
/** The records of one sign-in: ticket, login and state. */
const LEAST_SHARE = 3;
/** Expired records of principals that do not return are deleted this often (ms); more often beyond the limit. */
const SWEEP_MS = 600_000;
const SWEEP_FULL_MS = 60_000;

interface Kept<K extends Kind> {
  readonly until: number;
  readonly content: Content[K];
}

/** A record of a principal's share. */
interface Entry {
  readonly file: string;
  readonly until: number;
}

/** Reads, writes and takes records. Ids are secrets: only their digests are stored. */
export class PendingRecords {
  #opened: Promise<void> | undefined;
  readonly #queues = new TaskQueues();
  /** The number of records in all, as of the last sweep and this process's writes. */
  #total = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: PendingRecordsOptions) {}

  /**
   * Stores `content` for the lifetime of its kind. Beyond its share the principal's own oldest records are deleted.
   *
   * @throws VaultError
   */
  async put<K extends Kind>(kind: K, id: string, content: Content[K]): Promise<void> {
    await this.#open();
    const { now, records, share = SHARE, limit = MAX_RECORDS } = this.options;
    this.#sweepIfDue();
    const { file } = nameOf(kind, id);
    const until = now() + LIFE_MS[kind];
    await this.#changeShare(content.principal, async (entries) => {
      const room = Math.max(0, (this.#total < limit ? share : Math.min(share, LEAST_SHARE)) - 1);
      const live = entries.filter((entry) => entry.until > now());
      const kept = room === 0 ? [] : live.slice(-room);
      for (const entry of entries) if (!kept.includes(entry)) await records.remove(unnamed(entry.file));
      await this.#write(kind, id, { until, content });
      this.#total += 1;
      return [...kept, { file, until }];
    });
  }

  /** Overwrites a record and keeps its expiry; does nothing if it is gone. @throws VaultError */
  async replace<K extends Kind>(kind: K, id: string, content: Content[K]): Promise<void> {
    const kept = await this.#read(kind, id);
    if (kept !== undefined) await this.#write(kind, id, { until: kept.until, content });
  }

  /** The record; undefined if it is gone. @throws VaultError */
  async read<K extends Kind>(kind: K, id: string): Promise<Content[K] | undefined> {
    return (await this.#read(kind, id))?.content;
  }

  /** Takes the record: exactly one caller in all processes receives it. @throws VaultError */
  async take<K extends Kind>(kind: K, id: string): Promise<Content[K] | undefined> {
    const kept = await this.#read(kind, id);
    if (kept === undefined) return undefined;
    const { file } = nameOf(kind, id);
    if (!(await this.options.records.remove(nameOf(kind, id)))) return undefined;
    try {
      const { principal } = kept.content;
      await this.#changeShare(principal, async (entries) => entries.filter((entry) => entry.file !== file));
    } catch (error) {
      // Its place in the share becomes free when it expires.
      if (!(error instanceof VaultError)) throw error;
    }
    return kept.content;
  }

  /** Replaces the entries of the principal's share, under its lock. */
  #changeShare(
    principal: string,
    change: (entries: readonly Entry[]) => Promise<readonly Entry[]>,
  ): Promise<void> {
    const name = shareOf(principal);
    const { records } = this.options;
    return this.#queues.run(name.file, async () => {
      const lock = await records.lock(name);
      try {
        const before = await this.#entriesOf(name);
        await records.write(name, await change(before), { lifeMs: MAX_LIFE_MS });
      } finally {
        await lock.release();
      }
    });
  }

  /** A share that cannot be read begins again: its records expire by themselves. */
  async #entriesOf(name: RecordName): Promise<readonly Entry[]> {
    try {
      const kept = (await this.options.records.read(name))?.value;
      return Array.isArray(kept) ? (kept as readonly Entry[]) : [];
    } catch (error) {
      if (error instanceof VaultError && (error.fault === "damaged" || error.fault === "key")) return [];
      throw error;
    }
  }

  async #read<K extends Kind>(kind: K, id: string): Promise<Kept<K> | undefined> {
    await this.#open();
    const kept = (await this.options.records.read(nameOf(kind, id)))?.value as Kept<K> | undefined;
    return kept !== undefined && kept.until > this.options.now() ? kept : undefined;
  }

  #write<K extends Kind>(kind: K, id: string, kept: Kept<K>): Promise<void> {
    return this.options.records.write(nameOf(kind, id), kept, { lifeMs: LIFE_MS[kind] });
  }

  #open(): Promise<void> {
    this.#opened ??= this.options.records.open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  #sweepIfDue(): void {
    const { now, limit = MAX_RECORDS } = this.options;
    const interval = this.#total < limit ? SWEEP_MS : SWEEP_FULL_MS;
    if (now() - this.#sweptAt < interval) return;
    this.#sweptAt = now();
    this.#sweep().catch((error: unknown) => {
      // The write that follows reports the same fault, and the next sweep is soon.
      if (!(error instanceof VaultError)) throw error;
      this.#sweptAt = Number.NEGATIVE_INFINITY;
    });
  }

  /** Deletes expired records of all principals, and counts the others. */
  async #sweep(): Promise<void> {
    const { records, now } = this.options;
    let left = 0;
    for (const found of await records.list()) {
      if (found.writtenAt + MAX_LIFE_MS < now()) await records.remove(found);
      else left += 1;
    }
    this.#total = left;
  }
}

const digest = (text: string): string => createHash("sha256").update(text).digest("base64url");

/** A record of which only the file name is known. */
const unnamed = (file: string): RecordName => ({
  file,
  what: "a sign-in in progress",
  remedy: "sign in again",
});

const nameOf = (kind: Kind, id: string): RecordName => unnamed(digest(`${kind}\0${id}`));

const shareOf = (principal: string): RecordName => ({
  file: digest(`share\0${principal}`),
  what: "the list of a principal's sign-ins in progress",
  remedy: "sign in again",
});
