/** The keys of the vault: from the config, otherwise from a key file that is created at first use. */
import { randomBytes } from "node:crypto";
import { link, mkdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, readPrivateFile } from "../../state/private-file.js";
import { createDurably, DRAFT_SUFFIX, replaceDurably } from "./durable-files.js";
import { type Keyring, type MasterKey, masterKey, parseKeys } from "./keyring.js";
import { VaultError } from "./vault-error.js";

/** `key`: the keys, as written in the config. `keyFile`: a file with them. `own`: a file that the vault creates. */
export type KeySource =
  | { readonly kind: "key"; readonly text: string }
  | { readonly kind: "keyFile"; readonly file: string }
  | { readonly kind: "own"; readonly file: string };

const MAX_BYTES = 64 * 1024;
/** Permission bits that a file with secrets must not have. */
export const OTHERS_MAY_NOTHING = 0o077;

/**
 * Reads the keys each time: another process may have rotated them. `make`: creates a missing own key file.
 *
 * @returns undefined if the own key file is missing and not created
 * @throws VaultError
 */
export async function readKeys(source: KeySource, make: boolean): Promise<Keyring | undefined> {
  if (source.kind === "key") return checked(parseKeys(source.text), "credentials.key of the config");
  const { file } = source;
  const found = keysIn(file);
  if (found !== undefined) return found;
  if (source.kind === "keyFile") {
    throw new VaultError(
      "key",
      `the key file ${file} does not exist: credentials.keyFile of the config names it`,
    );
  }
  if (!make) return undefined;
  await makeKeyFile(file);
  // Another process may have created one at the same time; the first one counts.
  return keysIn(file) ?? undefined;
}

/** Prepends a new key to the own key file. @throws VaultError */
export async function addOwnKey(file: string, keyring: Keyring): Promise<Keyring> {
  const keys: Keyring = [masterKey(randomBytes(32)), ...keyring];
  await writeKeys(file, keys);
  return keys;
}

/** Removes all keys except `keys` from the own key file. @throws VaultError */
export async function writeKeys(file: string, keys: readonly MasterKey[]): Promise<void> {
  await replaceDurably(file, textOf(keys)).catch((error: unknown) => {
    throw new VaultError("disk", `the key file ${file} cannot be written (${codeOf(error)})`, {
      cause: error,
    });
  });
}

function keysIn(file: string): Keyring | undefined {
  const content = readPrivateFile(file, MAX_BYTES, OTHERS_MAY_NOTHING);
  if (content === undefined) return undefined;
  if (!content.ok) {
    throw new VaultError(
      "permissions",
      `the key file ${file} is not used: ${content.reason}; it must be yours alone (chmod 600 ${file})`,
    );
  }
  return checked(parseKeys(content.bytes.toString("latin1")), `the key file ${file}`);
}

function checked(keys: Keyring | string, where: string): Keyring {
  if (typeof keys !== "string") return keys;
  throw new VaultError("key", `${where} cannot be used: ${keys}`);
}

async function makeKeyFile(file: string): Promise<void> {
  const draft = `${file}.${randomBytes(8).toString("hex")}${DRAFT_SUFFIX}`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await createDurably(draft, textOf([masterKey(randomBytes(32))]));
    await linkOrRename(draft, file);
  } catch (error) {
    throw new VaultError(
      "disk",
      `the key file ${file} cannot be created (${codeOf(error)}); credentials.key of the config can hold the key instead`,
      { cause: error },
    );
  } finally {
    await rm(draft, { force: true });
  }
}

/** Unlike a rename, a link fails if the file exists. Some file systems have no links. */
async function linkOrRename(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    await rename(draft, file);
  }
}

const textOf = (keys: readonly MasterKey[]): Buffer =>
  Buffer.from(keys.map(({ bytes }) => `${bytes.toString("base64")}\n`).join(""));
