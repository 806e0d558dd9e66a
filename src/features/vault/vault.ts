/**
 * The credentials of all principals, encrypted in files of this user or in the store of a cluster, with locks between
 * processes.
 */

import { dirname, join } from "node:path";
import { inBackground } from "../../core/logger.js";
import { idOfKey } from "../../core/principal.js";
import { isObject } from "../../wire/json.js";
import { IssuerPins } from "./issuer-pins.js";
import type { KeySource } from "./key-source.js";
import { clientName, credentialName, isCredentialFile, nameOfFile, type RecordName } from "./record-names.js";
import { type Records, type RecordsOptions, recordsAt } from "./records.js";
import { type Rotation, rotateRecords } from "./rotate.js";
import { TaskQueues } from "./task-queues.js";
import type { ClientRegistration, Credential, IssuerPin, Vault } from "./types.js";
import { VaultError } from "./vault-error.js";

/** The keys from the config (`credentials`); without them the vault creates a key file. */
export interface CredentialKeys {
  /** 32 bytes in base64; several keys are separated by commas or line breaks. */
  readonly key?: string;
  /** A file with the same content. */
  readonly keyFile?: string;
}

/** The location of a vault. */
export interface VaultOptions extends Omit<RecordsOptions, "keys"> {
  /** `credentials` in the state folder. The own key file is `credentials.key` beside it. */
  readonly folder: string;
  readonly keys?: CredentialKeys;
}

/** The vault of one process. */
export interface OpenVault extends Vault {
  /** @throws VaultError */
  rotate(): Promise<Rotation>;
  /**
   * Calls `listener` after any process has written or removed a record; `credential` is undefined if it was removed or
   * is unreadable. `file` identifies server and principal. The returned function unsubscribes.
   */
  watch(listener: (change: RecordChange) => void): () => void;
}

/** A written or removed record. */
export interface RecordChange {
  readonly file: string;
  readonly credential: Credential | undefined;
}

/** Opens the vault; creates a missing folder. @throws VaultError */
export async function openVault(options: VaultOptions): Promise<OpenVault> {
  const keys = keySource(options);
  const records = recordsAt({ ...options, keys });
  await records.open();
  return new RecordVault(options, keys, records);
}

/** `RecordChange.file` of this record. */
export const recordFileOf = (server: string, principal: string): string =>
  credentialName(server, principal).file;

class RecordVault implements OpenVault {
  /** Tasks of this process queue here; only the first one waits at the lock for other processes. */
  readonly #lockQueues = new TaskQueues();
  readonly #writeQueues = new TaskQueues();
  readonly #pins: IssuerPins;

  constructor(
    private readonly options: VaultOptions,
    private readonly keys: KeySource,
    private readonly records: Records,
  ) {
    this.#pins = new IssuerPins({
      records,
      locked: (name, task) => this.#locked(name, task),
      signIns: () => this.list(),
    });
  }

  async read(server: string, principal: string): Promise<Credential | undefined> {
    const found = await this.#readOf(server, principal);
    const id = idOfKey(principal);
    if (found !== undefined || id === principal) return found;
    // Versions up to 0.1 kept sign-ins by id alone; the next write moves the record.
    const before = await this.#readOf(server, id);
    return before && { ...before, principal };
  }

  #readOf(server: string, principal: string): Promise<Credential | undefined> {
    const name = credentialName(server, principal);
    return this.#readCredential(name, (found) => found.server === server && found.principal === principal);
  }

  write(credential: Credential): Promise<void> {
    const name = credentialName(credential.server, credential.principal);
    return this.#writeQueues.run(name.file, async () => {
      const before = await this.#readCredential(name);
      if (before !== undefined && before.generation >= credential.generation) {
        throw new VaultError(
          "superseded",
          `${name.what} already has generation ${before.generation}: generation ${credential.generation} does not replace it`,
        );
      }
      await this.records.write(name, credential, { generation: credential.generation });
      if (before === undefined) await this.#removeUnsourced(credential.server, credential.principal);
    });
  }

  remove(server: string, principal: string): Promise<void> {
    const name = credentialName(server, principal);
    return this.#writeQueues.run(name.file, async () => {
      await this.records.remove(name);
      await this.#removeUnsourced(server, principal);
    });
  }

  async #removeUnsourced(server: string, principal: string): Promise<void> {
    const id = idOfKey(principal);
    if (id !== principal) await this.records.remove(credentialName(server, id));
  }

  async list(): Promise<readonly Omit<Credential, "tokens">[]> {
    const found: Omit<Credential, "tokens">[] = [];
    for (const name of await this.records.list()) {
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
    const record = await this.records.read(name);
    if (record === undefined) return undefined;
    if (!isClient(record.value)) throw unknownContent(name);
    return record.value;
  }

  writeClient(issuer: string, redirectUri: string, client: ClientRegistration): Promise<void> {
    const name = clientName(issuer, redirectUri);
    return this.#writeQueues.run(name.file, () => this.records.write(name, client));
  }

  removeClient(issuer: string, redirectUri: string): Promise<void> {
    const name = clientName(issuer, redirectUri);
    return this.#writeQueues.run(name.file, async () => {
      await this.records.remove(name);
    });
  }

  readPin(server: string, origin: string): Promise<IssuerPin | undefined> {
    return this.#pins.read(server, origin);
  }

  updatePin(
    server: string,
    origin: string,
    update: (kept: IssuerPin | undefined) => IssuerPin,
  ): Promise<IssuerPin> {
    return this.#pins.update(server, origin, update);
  }

  writePin(pin: IssuerPin): Promise<void> {
    return this.#pins.write(pin);
  }

  locked<T>(server: string, principal: string, task: () => Promise<T>): Promise<T> {
    return this.#locked(credentialName(server, principal), task);
  }

  rotate(): Promise<Rotation> {
    const locked = <T>(name: RecordName, task: () => Promise<T>): Promise<T> =>
      this.#locked(name, () => this.#writeQueues.run(name.file, task));
    return rotateRecords({ records: this.records, keys: this.keys, locked });
  }

  watch(listener: (change: RecordChange) => void): () => void {
    const notify = async (file: string): Promise<void> => {
      const credential = await this.#orWarn(this.#readCredential(nameOfFile(file)));
      listener({ file, credential });
    };
    return this.records.watch((file) => {
      if (!isCredentialFile(file)) return;
      const notified = notify(file).catch((error: unknown) => {
        // Records that are unreadable now are read when the store is back.
        if (!isOutage(error)) throw error;
      });
      inBackground(notified, this.options.logger, "reading a changed sign-in");
    });
  }

  #locked<T>(name: RecordName, task: () => Promise<T>): Promise<T> {
    return this.#lockQueues.run(name.file, async () => {
      const lock = await this.records.lock(name);
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
    const record = await this.records.read(name);
    if (record === undefined) return undefined;
    if (!isCredential(record.value) || !isMeant(record.value)) throw unknownContent(name);
    return record.value;
  }

  /** Unreadable records are logged and omitted. @throws VaultError `store` */
  async #orWarn<T>(reading: Promise<T | undefined>): Promise<T | undefined> {
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof VaultError) || isOutage(error)) throw error;
      this.options.logger.warn({ fault: error.fault }, error.message);
      return undefined;
    }
  }
}

const isOutage = (error: unknown): boolean => error instanceof VaultError && error.fault === "store";

/** The location of the keys of the vault in `folder`. */
export function keySource({ folder, keys = {} }: Pick<VaultOptions, "folder" | "keys">): KeySource {
  if (keys.key !== undefined) return { kind: "key", text: keys.key };
  if (keys.keyFile !== undefined) return { kind: "keyFile", file: keys.keyFile };
  return { kind: "own", file: join(dirname(folder), "credentials.key") };
}

const unknownContent = ({ what, remedy }: RecordName): VaultError =>
  new VaultError("damaged", `${what} has a format that this version does not read; ${remedy}`);

const isText = (value: unknown): value is string => typeof value === "string";

/** Whether it is a sign-in record. */
const isCredential = (value: unknown): value is Credential =>
  isObject(value) &&
  Number.isSafeInteger(value.generation) &&
  [value.server, value.principal, value.issuer, value.resource, value.tokenEndpoint, value.grant].every(
    isText,
  ) &&
  isClient(value.client) &&
  Array.isArray(value.askedScopes) &&
  (value.tokens === undefined || (isObject(value.tokens) && isText(value.tokens.accessToken)));

/** Whether it is a registration record. */
const isClient = (value: unknown): value is ClientRegistration =>
  isObject(value) && isText(value.clientId) && isText(value.tokenEndpointAuthMethod) && isText(value.source);
