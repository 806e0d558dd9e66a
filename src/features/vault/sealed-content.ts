/** Opens and seals records with the current keys, and explains why a record cannot be opened. */
import { type KeySource, readKeys } from "./key-source.js";
import type { RecordName } from "./record-names.js";
import { seal, unseal } from "./sealed-record.js";
import { VaultError } from "./vault-error.js";

/** Large ID tokens have about 10 KiB. */
export const MAX_RECORD_BYTES = 1024 * 1024;

/** @param place the origin of the bytes, for messages. @throws VaultError */
export async function unsealed(
  bytes: Buffer,
  name: RecordName,
  source: KeySource,
  place: string,
): Promise<{ readonly value: unknown; readonly kid: string }> {
  const keys = await readKeys(source, false);
  const record = unseal(bytes, name.file, keys ?? NO_KEYS);
  if (record.ok) return record;
  if (record.fault === "damaged") {
    const sentence = `${name.what} cannot be read from ${place}: ${record.reason}; ${name.remedy}`;
    throw new VaultError("damaged", sentence);
  }
  const here = keys === undefined ? "there is none" : `here: ${keys.map(({ kid }) => kid).join(", ")}`;
  throw new VaultError(
    "key",
    `${name.what} was encrypted with key ${record.kid}, which is not in ${whereKeys(source)} (${here}): put that key back, or ${name.remedy}`,
  );
}

/** Encrypts with the first key; creates a missing own key file. @throws VaultError */
export async function sealed(value: unknown, name: RecordName, source: KeySource): Promise<Buffer> {
  const keys = await readKeys(source, true);
  if (keys === undefined)
    throw new VaultError("key", `${whereKeys(source)} was removed while it was created`);
  const bytes = seal(value, name.file, keys[0]);
  if (bytes.length > MAX_RECORD_BYTES) {
    const sentence = `${name.what} is larger than ${MAX_RECORD_BYTES / 1024} KiB and is not kept`;
    throw new VaultError("disk", sentence);
  }
  return bytes;
}

const whereKeys = (source: KeySource): string =>
  source.kind === "key" ? "credentials.key of the config" : `the key file ${source.file}`;

/** The key id if there is no key at all: no key has such an id. */
const NO_KEYS = [{ kid: "", bytes: Buffer.alloc(0) }] as const;
