/** Storage of sealed records: a folder of this user, or the store that the replicas of a cluster share. */

import type { Logger } from "../../core/logger.js";
import type { SharedStore } from "../../core/shared-store.js";
import type { CreateFile } from "./durable-files.js";
import type { KeySource } from "./key-source.js";
import type { HeldLock, LockTimes } from "./process-lock.js";
import { RecordFiles } from "./record-files.js";
import type { RecordName } from "./record-names.js";
import { StoredRecords } from "./stored-records.js";

/** An existing record. */
export interface StoredRecord extends RecordName {
  /** When it was last written, in ms since 1970. */
  readonly writtenAt: number;
}

/** Options of a write. */
export interface WriteSettings {
  /** A store refuses to overwrite this generation or a later one. With a folder the caller compares. */
  readonly generation?: number;
  /** In ms, after which the record may be deleted. Default: never. */
  readonly lifeMs?: number;
}

/** Sealed records, keyed by file name. Every method is crash-safe. */
export interface Records {
  /** Creates the storage, and checks its owner. @throws VaultError */
  open(): Promise<void>;
  /** The content of a record, and its key; undefined if there is none. @throws VaultError */
  read(name: RecordName): Promise<{ readonly value: unknown; readonly kid: string } | undefined>;
  /** Encrypts with the first key. @throws VaultError; the previous record then stays */
  write(name: RecordName, value: unknown, how?: WriteSettings): Promise<void>;
  /** Whether this call removed it: exactly one caller in all processes receives true. @throws VaultError */
  remove(name: RecordName): Promise<boolean>;
  /** All records. @throws VaultError */
  list(): Promise<readonly StoredRecord[]>;
  /** Resolves when this process holds the lock of the record. @throws VaultError */
  lock(name: RecordName): Promise<HeldLock>;
  /**
   * Calls `listener` with a file name that any process may have written or removed. The returned function unsubscribes.
   */
  watch(listener: (file: string) => void): () => void;
}

/** Location and encryption of the records. */
export interface RecordsOptions {
  /** Created with mode 0700 if missing. Its last name is also that of the records in the store. */
  readonly folder: string;
  readonly keys: KeySource;
  /** The store of the cluster, if its replicas share the records; the folder is then unused. */
  readonly shared?: SharedStore;
  readonly logger: Logger;
  /** Fault injection for tests. */
  readonly createFile?: CreateFile;
  readonly lockTimes?: Partial<LockTimes>;
  /** How long (ms) an unavailable store is retried; ten times as long while a lock is held. Default 2 s. */
  readonly outageMs?: number;
}

/** The records at a location. */
export function recordsAt({ shared, ...options }: RecordsOptions): Records {
  return shared === undefined ? new RecordFiles(options) : new StoredRecords({ ...options, store: shared });
}
