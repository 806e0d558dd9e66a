/** The files of the records: one folder, one sealed file for each record, readable by this user only. */
import { createHash } from "node:crypto";
import { lstatSync, type Stats } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, readOwnFile } from "../state/own-file.js";
import { type CreateFile, removeDurably, removeOldDrafts, replaceDurably } from "./durable-files.js";
import { type KeySource, OTHERS_MAY_NOTHING, readKeys } from "./key-source.js";
import { seal, unseal } from "./sealed-record.js";
import { VaultError } from "./vault-error.js";

/** Large ID tokens have some 10 KiB. */
const MAX_BYTES = 1024 * 1024;
const CLIENT_PREFIX = "client-";
const HOST_PREFIX = "host-";
const DIGEST_LENGTH = 43;
const NAME = /^(?:client-|host-)?[\w-]{43}$/;

/** What a record is about. */
export interface RecordName {
  /** The name of its file. */
  readonly file: string;
  /** For sentences, such as `the sign-in of "ann" at linear`. */
  readonly what: string;
  /** What to do where it cannot be used, as a sentence's end. */
  readonly remedy: string;
}

const digest = (...parts: readonly string[]): string =>
  createHash("sha256").update(parts.join("\0")).digest("base64url");

/** The record of the sign-in of `principal` (its id) at `server`. */
export function credentialName(server: string, principal: string): RecordName {
  const who = JSON.stringify(principal);
  const as = /^[\w.@-]+$/.test(principal) ? principal : `'${principal.replaceAll("'", "'\\''")}'`;
  return {
    file: digest(principal, server),
    what: `the sign-in of ${who} at server ${server}`,
    remedy: `cardea logout ${server} --as ${as} forgets it, and cardea login ${server} --as ${as} signs in again`,
  };
}

/** The record of the dynamic registration at `issuer` for `redirectUri`. */
export function clientName(issuer: string, redirectUri: string): RecordName {
  const file = `${CLIENT_PREFIX}${digest(issuer, redirectUri)}`;
  return {
    file,
    what: `the client registration at ${issuer}`,
    remedy: `remove ${file} to register again`,
  };
}

/** A record of the authorization server for hosts. @param id 43 characters of base64url */
export function hostRecordName(id: string): RecordName {
  const file = `${HOST_PREFIX}${id}`;
  return { file, what: "a sign-in of a host", remedy: `remove ${file}, and hosts sign in again` };
}

/** Where the files are, and what they are encrypted with. */
export interface RecordFilesOptions {
  /** Made with mode 0700 where it is missing. */
  readonly folder: string;
  readonly keys: KeySource;
  /** Tests let it fail. */
  readonly createFile?: CreateFile;
}

/** Reads and writes records. Every method is safe against a crash at any moment. */
export class RecordFiles {
  readonly #options: RecordFilesOptions;

  constructor(options: RecordFilesOptions) {
    this.#options = options;
  }

  /** Makes the folder, checks whose it is, and removes what killed processes left. @throws VaultError */
  async open(): Promise<void> {
    const { folder } = this.#options;
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      this.#checkFolder();
      await removeOldDrafts(folder);
    } catch (error) {
      if (error instanceof VaultError) throw error;
      throw diskError(`credentials cannot be kept in ${folder}`, error);
    }
  }

  /** The content of a record, and the key it is encrypted with; undefined where there is none. @throws VaultError */
  async read(name: RecordName): Promise<{ readonly value: unknown; readonly kid: string } | undefined> {
    this.#checkFolder();
    const path = join(this.#options.folder, name.file);
    const found = readOwnFile(path, MAX_BYTES, OTHERS_MAY_NOTHING);
    if (found === undefined) return undefined;
    if (!found.ok) {
      throw new VaultError(
        "permissions",
        `${name.what} is not used: ${path}: ${found.reason}; the file must be yours alone (chmod 600 ${path})`,
      );
    }
    const keys = await readKeys(this.#options.keys, false);
    const record = unseal(found.bytes, name.file, keys ?? NO_KEYS);
    if (record.ok) return record;
    if (record.fault === "damaged") {
      throw new VaultError(
        "damaged",
        `${name.what} cannot be read from ${path}: ${record.reason}; ${name.remedy}`,
      );
    }
    const here = keys === undefined ? "there is none" : `here: ${keys.map(({ kid }) => kid).join(", ")}`;
    throw new VaultError(
      "key",
      `${name.what} was encrypted with key ${record.kid}, which is not in ${whereKeys(this.#options.keys)} (${here}): put that key back, or ${name.remedy}`,
    );
  }

  /** Encrypts under the first key. @throws VaultError; the record before it stays then */
  async write(name: RecordName, value: unknown): Promise<void> {
    const { folder, keys: source, createFile } = this.#options;
    await this.#makeFolder();
    const keys = await readKeys(source, true);
    if (keys === undefined) throw new VaultError("key", `${whereKeys(source)} was removed while it was made`);
    const bytes = seal(value, name.file, keys[0]);
    if (bytes.length > MAX_BYTES) {
      throw new VaultError("disk", `${name.what} is larger than ${MAX_BYTES / 1024} KiB and is not kept`);
    }
    try {
      await replaceDurably(join(folder, name.file), bytes, createFile);
    } catch (error) {
      throw diskError(
        `${name.what} cannot be written to ${folder}; what was kept before is unchanged`,
        error,
      );
    }
  }

  /** @throws VaultError */
  async remove(name: RecordName): Promise<void> {
    const path = join(this.#options.folder, name.file);
    await removeDurably(path).catch((error: unknown) => {
      throw diskError(`${name.what} cannot be removed from ${path}`, error);
    });
  }

  /** The names of all records. @throws VaultError */
  async names(): Promise<readonly RecordName[]> {
    const { folder } = this.#options;
    const names = await readdir(folder).catch((error: unknown) => {
      throw diskError(`${folder} cannot be read`, error);
    });
    return names.filter((name) => NAME.test(name)).map(nameOfFile);
  }

  /** The folder may have been deleted while the gateway runs. */
  async #makeFolder(): Promise<void> {
    const { folder } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
      throw diskError(`credentials cannot be kept in ${folder}`, error);
    });
    this.#checkFolder();
  }

  /** @throws VaultError where others may look into the folder */
  #checkFolder(): void {
    const { folder } = this.#options;
    let stats: Stats;
    try {
      stats = lstatSync(folder);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return;
      throw diskError(`${folder} cannot be read`, error);
    }
    const reason = folderFault(stats);
    if (reason === undefined) return;
    throw new VaultError(
      "permissions",
      `credentials in ${folder} are not used: ${reason}; the folder must be yours alone (chmod 700 ${folder})`,
    );
  }
}

/** Whether a file of the folder holds the sign-in of a principal at a server. */
export const isCredentialFile = (file: string): boolean => file.length === DIGEST_LENGTH;

/** Whether this is the name of a record's file. */
export const isRecordFile = (file: string): boolean => NAME.test(file);

/** The record in a file of which only the name is known. */
export function nameOfFile(file: string): RecordName {
  const what = `the ${isCredentialFile(file) ? "sign-in" : "registration or host's sign-in"} in ${file}`;
  return { file, what, remedy: `remove ${file} and sign in again` };
}

function folderFault(stats: Stats): string | undefined {
  if (!stats.isDirectory()) return "it is no folder";
  if (process.getuid === undefined) return undefined;
  if (stats.uid !== process.getuid()) return "it belongs to another user";
  return (stats.mode & OTHERS_MAY_NOTHING) === 0 ? undefined : "its permissions let others in";
}

const whereKeys = (source: KeySource): string =>
  source.kind === "key" ? "credentials.key of the config" : `the key file ${source.file}`;

const diskError = (what: string, error: unknown): VaultError =>
  new VaultError("disk", `${what} (${codeOf(error)})`, { cause: error });

/** For a record without any key: no id of a key has this form. */
const NO_KEYS = [{ kid: "", bytes: Buffer.alloc(0) }] as const;
