/** Where are the credentials of all principals kept? Encrypted in files of this user, with locks between processes. */
import { watch } from "node:fs";
import { dirname, join } from "node:path";
import type { Logger } from "../core/logger.js";
import type { ClientRegistration, Credential, Vault } from "../sign-in/types.js";
import type { CreateFile } from "./durable-files.js";
import type { KeySource } from "./key-source.js";
import { type LockTimes, ProcessLocks } from "./process-lock.js";
import { isClient, isCredential } from "./record-content.js";
import {
  clientName,
  credentialName,
  isCredentialFile,
  isRecordFile,
  nameOfFile,
  RecordFiles,
  type RecordName,
} from "./record-files.js";
import { type Rotation, rotateRecords } from "./rotate.js";
import { Turns } from "./turns.js";
import { VaultError } from "./vault-error.js";

/** The keys as the config gives them (`credentials`); without them the vault makes a key file of its own. */
export interface CredentialKeys {
  /** 32 bytes in base64; several are separated by commas or line breaks. */
  readonly key?: string;
  /** A file with the same. */
  readonly keyFile?: string;
}

/** Where a vault is. */
export interface VaultOptions {
  /** `credentials` in the state folder. The own key file is `credentials.key` beside it. */
  readonly folder: string;
  readonly keys?: CredentialKeys;
  readonly logger: Logger;
  /** Tests let it fail. */
  readonly createFile?: CreateFile;
  readonly lockTimes?: Partial<LockTimes>;
}

/** The vault of one process. */
export interface OpenVault extends Vault {
  /** @throws VaultError */
  rotate(): Promise<Rotation>;
  /**
   * Calls `listener` after a record was written or removed, also by another process; `credential` is undefined where it
   * was removed or cannot be read. `file` is the same for the same server and principal. The returned function ends that.
   */
  watch(listener: (change: RecordChange) => void): () => void;
}

/** A record that was written or removed. */
export interface RecordChange {
  readonly file: string;
  readonly credential: Credential | undefined;
}

/** Opens the vault; the folder is made where it is missing. @throws VaultError */
export async function openVault(options: VaultOptions): Promise<OpenVault> {
  const keys = keySource(options);
  const files = new RecordFiles({ ...options, keys });
  await files.open();
  return new FileVault(options, keys, files);
}

/** The name under which `RecordChange.file` names this record. */
export const recordFileOf = (server: string, principal: string): string =>
  credentialName(server, principal).file;

class FileVault implements OpenVault {
  readonly #locks: ProcessLocks;
  /** Tasks of this process wait here for each other, and at the lock only for other processes. */
  readonly #lockTurns = new Turns();
  readonly #writeTurns = new Turns();

  constructor(
    private readonly options: VaultOptions,
    private readonly keys: KeySource,
    private readonly files: RecordFiles,
  ) {
    this.#locks = new ProcessLocks(options.folder, options.lockTimes);
  }

  read(server: string, principal: string): Promise<Credential | undefined> {
    const name = credentialName(server, principal);
    return this.#readCredential(name, (found) => found.server === server && found.principal === principal);
  }

  write(credential: Credential): Promise<void> {
    const name = credentialName(credential.server, credential.principal);
    return this.#writeTurns.run(name.file, async () => {
      const before = await this.#readCredential(name);
      if (before !== undefined && before.generation >= credential.generation) {
        throw new VaultError(
          "superseded",
          `${name.what} has generation ${before.generation} on disk: generation ${credential.generation} does not replace it`,
        );
      }
      await this.files.write(name, credential);
    });
  }

  remove(server: string, principal: string): Promise<void> {
    const name = credentialName(server, principal);
    return this.#writeTurns.run(name.file, () => this.files.remove(name));
  }

  async list(): Promise<readonly Omit<Credential, "tokens">[]> {
    const found: Omit<Credential, "tokens">[] = [];
    for (const name of await this.files.names()) {
      if (!isCredentialFile(name.file)) continue;
      const credential = await this.#orWarn(this.#readCredential(name));
      if (credential === undefined) continue;
      const { tokens: _, ...rest } = credential;
      found.push(rest);
    }
    return found;
  }

  async readClient(issuer: string, redirectUri: string): Promise<ClientRegistration | undefined> {
    const name = clientName(issuer, redirectUri);
    const record = await this.files.read(name);
    if (record === undefined) return undefined;
    if (!isClient(record.value)) throw unknownContent(name);
    return record.value;
  }

  writeClient(issuer: string, redirectUri: string, client: ClientRegistration): Promise<void> {
    const name = clientName(issuer, redirectUri);
    return this.#writeTurns.run(name.file, () => this.files.write(name, client));
  }

  removeClient(issuer: string, redirectUri: string): Promise<void> {
    const name = clientName(issuer, redirectUri);
    return this.#writeTurns.run(name.file, () => this.files.remove(name));
  }

  locked<T>(server: string, principal: string, task: () => Promise<T>): Promise<T> {
    return this.#locked(credentialName(server, principal), task);
  }

  rotate(): Promise<Rotation> {
    const locked = <T>(name: RecordName, task: () => Promise<T>): Promise<T> =>
      this.#locked(name, () => this.#writeTurns.run(name.file, task));
    return rotateRecords({ files: this.files, keys: this.keys, locked });
  }

  watch(listener: (change: RecordChange) => void): () => void {
    const { folder, logger } = this.options;
    const notify = async (file: string): Promise<void> => {
      const credential = await this.#orWarn(this.#readCredential(nameOfFile(file)));
      listener({ file, credential });
    };
    try {
      const watcher = watch(folder, { persistent: false }, (_event, file) => {
        if (file === null || !isRecordFile(file) || !isCredentialFile(file)) return;
        notify(file).catch((error: unknown) => logger.error({ error, file }, "a changed sign-in was lost"));
      });
      watcher.on("error", (error) => logger.warn({ folder, error }, UNWATCHED));
      return () => watcher.close();
    } catch (error) {
      logger.warn({ folder, error }, UNWATCHED);
      return () => {};
    }
  }

  #locked<T>(name: RecordName, task: () => Promise<T>): Promise<T> {
    return this.#lockTurns.run(name.file, async () => {
      const lock = await this.#locks.acquire(name.file);
      try {
        return await task();
      } finally {
        await lock.release();
      }
    });
  }

  async #readCredential(
    name: RecordName,
    isMeant: (found: Credential) => boolean = () => true,
  ): Promise<Credential | undefined> {
    const record = await this.files.read(name);
    if (record === undefined) return undefined;
    if (!isCredential(record.value) || !isMeant(record.value)) throw unknownContent(name);
    return record.value;
  }

  /** What cannot be read is logged, and left out. */
  async #orWarn<T>(reading: Promise<T | undefined>): Promise<T | undefined> {
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      this.options.logger.warn({ fault: error.fault }, error.message);
      return undefined;
    }
  }
}

const UNWATCHED =
  "sign-ins of other processes are noticed at the next call only: the folder of credentials cannot be watched";

/** Where the keys of the vault in `folder` are. */
export function keySource({ folder, keys = {} }: Pick<VaultOptions, "folder" | "keys">): KeySource {
  if (keys.key !== undefined) return { kind: "key", text: keys.key };
  if (keys.keyFile !== undefined) return { kind: "keyFile", file: keys.keyFile };
  return { kind: "own", file: join(dirname(folder), "credentials.key") };
}

const unknownContent = ({ what, remedy }: RecordName): VaultError =>
  new VaultError("damaged", `${what} does not hold what this version writes; ${remedy}`);
