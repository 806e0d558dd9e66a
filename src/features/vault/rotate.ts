/** Re-encrypts all records with the first key: each is read with any key and written with the first, under its lock. */
import { addOwnKey, type KeySource, readKeys, writeKeys } from "./key-source.js";
import type { RecordName } from "./record-names.js";
import type { Records } from "./records.js";
import { VaultError } from "./vault-error.js";

/** The result of a rotation. */
export interface Rotation {
  /** The id of the key of all records. */
  readonly kid: string;
  /** Re-encrypted records. */
  readonly rotated: number;
  /** Records that already used that key. */
  readonly unchanged: number;
  /** Unreadable records, each as a sentence. They stay unchanged. */
  readonly failed: readonly string[];
  /** The ids of unused keys. Those of an own key file are removed from it, except the previous one. */
  readonly unused: readonly string[];
}

/** Input of a rotation. */
interface Rotated {
  readonly records: Records;
  readonly keys: KeySource;
  /** Runs a task under the lock of a record. */
  readonly locked: <T>(name: RecordName, task: () => Promise<T>) => Promise<T>;
}

/**
 * Re-encrypts all records with the first key; an own key file gets a new first key before that. A running gateway reads
 * the key file at each use, so it continues.
 *
 * @throws VaultError if there is no key, or the disk or the store fails
 */
export async function rotateRecords(rotated: Rotated): Promise<Rotation> {
  // Two at once would each replace the key that the other one has just made.
  const lock = await rotated.records.lock({
    file: "rotation",
    what: "the rotation of keys",
    remedy: "try again",
  });
  try {
    return await rotateLocked(rotated);
  } finally {
    await lock.release();
  }
}

async function rotateLocked({ records, keys: source, locked }: Rotated): Promise<Rotation> {
  const before = await readKeys(source, true);
  if (before === undefined) throw new VaultError("key", "the key file was removed while it was created");
  const keys = source.kind === "own" ? await addOwnKey(source.file, before) : before;
  const { kid } = keys[0];
  let rotated = 0;
  let unchanged = 0;
  const failed: string[] = [];
  for (const name of await records.list()) {
    await locked(name, async () => {
      const record = await records.read(name);
      // Signed out since.
      if (record === undefined) return;
      if (record.kid === kid) unchanged += 1;
      else {
        await records.write(name, record.value);
        rotated += 1;
      }
    }).catch((error: unknown) => {
      if (!(error instanceof VaultError) || error.fault === "disk" || error.fault === "store") throw error;
      failed.push(error.message);
    });
  }
  // An unreadable record may need any of them; a writer may have just read the keys.
  const kept = failed.length > 0 ? keys : keys.slice(0, 2);
  if (source.kind === "own") await writeKeys(source.file, kept);
  const unused = failed.length > 0 ? [] : keys.slice(1).map((key) => key.kid);
  return { kid, rotated, unchanged, failed, unused };
}
