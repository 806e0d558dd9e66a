/** Where are sealed records kept? In a folder of this user, or in the store that the replicas of a cluster share. */
import type { SharedStore } from "../core/cluster.js";
import type { Logger } from "../core/logger.js";
import type { CreateFile } from "./durable-files.js";
import type { KeySource } from "./key-source.js";
import type { HeldLock, LockTimes } from "./process-lock.js";
import { RecordFiles } from "./record-files.js";
import type { RecordName } from "./record-names.js";
import { StoredRecords } from "./stored-records.js";

/** A record that there is. */
export interface FoundRecord extends RecordName {
  /** When it was written last, in ms since 1970. */
  readonly writtenAt: number;
}

/** How a record is written. */
export interface WriteSettings {
  /** A store refuses to write over this generation, or a later one. In a folder the caller compares. */
  readonly generation?: number;
  /** In ms, after which the record may go by itself. Default: it stays. */
  readonly lifeMs?: number;
}

/** Sealed records, by the names of their files. Every method is safe against a crash at any moment. */
export interface Records {
  /** Makes what is missing, and checks whose it is. @throws VaultError */
  open(): Promise<void>;
  /** The content of a record, and the key it is encrypted with; undefined where there is none. @throws VaultError */
  read(name: RecordName): Promise<{ readonly value: unknown; readonly kid: string } | undefined>;
  /** Encrypts under the first key. @throws VaultError; the record before it stays then */
  write(name: RecordName, value: unknown, how?: WriteSettings): Promise<void>;
  /** Whether this call has removed it: of all who remove a record, in any process, one. @throws VaultError */
  remove(name: RecordName): Promise<boolean>;
  /** All records. @throws VaultError */
  list(): Promise<readonly FoundRecord[]>;
  /** Resolves when this process, of all, holds the lock of the record. @throws VaultError */
  lock(name: RecordName): Promise<HeldLock>;
  /**
   * Calls `listener` with the name of a file that was perhaps written or removed, by any process. The returned function ends
   * that.
   */
  watch(listener: (file: string) => void): () => void;
}

/** Where records are, and what they are encrypted with. */
export interface RecordsOptions {
  /** Made with mode 0700 where it is missing. Its last name is also that of the records in the store. */
  readonly folder: string;
  readonly keys: KeySource;
  /** The store of the cluster, where its replicas share the records; the folder is not used then. */
  readonly shared?: SharedStore;
  readonly logger: Logger;
  /** Tests let it fail. */
  readonly createFile?: CreateFile;
  readonly lockTimes?: Partial<LockTimes>;
  /** How long (ms) a store that is away is waited for; ten times as long by what holds a lock. Default 2 s. */
  readonly outageMs?: number;
}

/** The records at that place. */
export function recordsAt({ shared, ...options }: RecordsOptions): Records {
  return shared === undefined ? new RecordFiles(options) : new StoredRecords({ ...options, store: shared });
}
