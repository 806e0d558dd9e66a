/** Sealed, expiring records of sign-ins in progress, so that any worker or replica can continue them. */
import { createHash } from "node:crypto";
import { GatewayError } from "../core/errors.js";
import type { RecordName } from "../vault/record-names.js";
import type { Records } from "../vault/records.js";
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
  /** Maximum number of records. Default: 2000. */
  readonly limit?: number;
}

/** The lifetime of each kind of record in ms. */
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

/** Reads, writes and takes records. Ids are secrets: only their digests are stored. */
export class PendingRecords {
  #opened: Promise<void> | undefined;

  constructor(private readonly options: PendingRecordsOptions) {}

  /** Stores `content` for the lifetime of its kind. @throws VaultError, or GatewayError `overloaded` */
  async put<K extends Kind>(kind: K, id: string, content: Content[K]): Promise<void> {
    await this.#open();
    const { limit = MAX_RECORDS, now } = this.options;
    if ((await this.#sweep()) >= limit) {
      const sentence = `${limit} sign-ins are in progress; the next one can begin in a few minutes`;
      throw new GatewayError("overloaded", "gateway", sentence, { retryable: true });
    }
    await this.#write(kind, id, { until: now() + LIFE_MS[kind], content });
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
    return (await this.options.records.remove(nameOf(kind, id))) ? kept.content : undefined;
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

  /** Deletes expired records; returns the number of remaining ones. */
  async #sweep(): Promise<number> {
    const { records, now } = this.options;
    let left = 0;
    for (const found of await records.list()) {
      if (found.writtenAt + MAX_LIFE_MS < now()) await records.remove(found);
      else left += 1;
    }
    return left;
  }
}

const nameOf = (kind: Kind, id: string): RecordName => ({
  file: createHash("sha256").update(`${kind}\0${id}`).digest("base64url"),
  what: "a sign-in in progress",
  remedy: "sign in again",
});
