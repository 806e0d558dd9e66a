/** The keys of the vault's records: the first one encrypts, all of them decrypt. */
import { createHash, hkdfSync } from "node:crypto";

/** A master key of 32 bytes, and its id in records. */
export interface MasterKey {
  /** 8 hexadecimal digits, derived from the key. */
  readonly kid: string;
  readonly bytes: Buffer;
}

/** At least one key; the first one encrypts. */
export type Keyring = readonly [MasterKey, ...MasterKey[]];

const KEY_BYTES = 32;

/** The key of these 32 bytes. */
export function masterKey(bytes: Buffer): MasterKey {
  const kid = createHash("sha256").update("cardea vault kid\0").update(bytes).digest("hex").slice(0, 8);
  return { kid, bytes };
}

/**
 * Parses keys of 32 bytes in base64 (or base64url), separated by commas or line breaks.
 *
 * @returns the keys, or what is wrong, as the end of a sentence
 */
export function parseKeys(text: string): Keyring | string {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  const keys: MasterKey[] = [];
  for (const [at, word] of words.entries()) {
    const bytes = Buffer.from(word, "base64");
    const isBase64 = /^[\w+/-]{43}=?$/.test(word);
    if (!isBase64 || bytes.length !== KEY_BYTES) {
      return `key ${at + 1} is not 32 bytes in base64 (openssl rand -base64 32 makes one)`;
    }
    keys.push(masterKey(bytes));
  }
  const [first, ...rest] = keys;
  return first === undefined ? "it holds no key (openssl rand -base64 32 makes one)" : [first, ...rest];
}

/** The key of one record: HKDF-SHA-256 of the master key and the file name. */
export function recordKey(master: MasterKey, file: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", master.bytes, "", `cardea vault 1\0${file}`, KEY_BYTES));
}
