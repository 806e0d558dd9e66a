/** How does every record get under the first key? Each is read with any key and written with the first, under its lock. */
import { addOwnKey, type KeySource, readKeys, writeKeys } from "./key-source.js";
import type { RecordName } from "./record-names.js";
import type { Records } from "./records.js";
import { VaultError } from "./vault-error.js";

/** What became of a rotation. */
export interface Rotation {
  /** The id of the key under which every record is now. */
  readonly kid: string;
  /** Records that were encrypted anew. */
  readonly rotated: number;
  /** Records that were under that key before. */
  readonly unchanged: number;
  /** Records that cannot be read, each as a sentence. They stay as they were. */
  readonly failed: readonly string[];
  /** The ids of keys that no record needs. Those of an own key file are removed from it, but for the one before. */
  readonly unused: readonly string[];
}

/** What a rotation works on. */
interface Rotated {
  readonly records: Records;
  readonly keys: KeySource;
  /** Runs a task under the lock of a record. */
  readonly locked: <T>(name: RecordName, task: () => Promise<T>) => Promise<T>;
}

/**
 * Encrypts all records under the first key; an own key file gets a new first key before. A gateway that runs reads the
 * key file at each use, and so goes on.
 *
 * @throws VaultError where there is no key, or the disk or the store fails
 */
export async function rotateRecords({ records, keys: source, locked }: Rotated): Promise<Rotation> {
  const before = await readKeys(source, true);
  if (before === undefined) throw new VaultError("key", "the key file was removed while it was made");
  const keys = source.kind === "own" ? await addOwnKey(source.file, before) : before;
  const { kid } = keys[0];
  let rotated = 0;
  let unchanged = 0;
  const failed: string[] = [];
  for (const name of await records.list()) {
    await locked(name, async () => {
      const record = await records.read(name);
      // Signed out meanwhile.
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
  // A record that cannot be read may need any of them; a writer may have read the keys just before.
  const kept = failed.length > 0 ? keys : keys.slice(0, 2);
  if (source.kind === "own") await writeKeys(source.file, kept);
  const unused = failed.length > 0 ? [] : keys.slice(1).map((key) => key.kid);
  return { kid, rotated, unchanged, failed, unused };
}
