/** Records in the store of a cluster: sealed as on disk, with locks and change notifications between its replicas. */
import { basename } from "node:path";
import { LRUCache } from "lru-cache";
import { type SharedStore, type StoreScript, StoreUnavailable } from "../../core/shared-store.js";
import type { HeldLock } from "./process-lock.js";
import { isRecordFile, nameOfFile, type RecordName } from "./record-names.js";
import type { Records, RecordsOptions, StoredRecord, WriteSettings } from "./records.js";
import { sealed, unsealed } from "./sealed-content.js";
import { StoreLocks } from "./store-lock.js";
import { OUTAGE_MS, throughOutage } from "./through-outage.js";
import { VaultError } from "./vault-error.js";

/** The number of records for which missed changes are detected. */
const MAX_SEEN = 10_000;
const PLACE = "the cluster's store";

const READ: StoreScript = {
  name: "record.read",
  text: "return redis.call('HGET', KEYS[1], 'sealed')",
};

/**
 * Writes ARGV[2], unless the record has the generation ARGV[1] or a later one. ARGV[3]: the name in the list KEYS[2],
 * with the time ARGV[4]. Without a generation that of the record stays. Returns the conflicting generation; none if the
 * record equals this one, whose response was lost.
 */
const WRITE: StoreScript = {
  name: "record.write",
  text: `local kept = tonumber(redis.call('HGET', KEYS[1], 'generation') or '')
local generation = tonumber(ARGV[1])
if kept and generation and kept >= generation then
  return redis.call('HGET', KEYS[1], 'sealed') == ARGV[2] and '' or tostring(kept)
end
if generation then redis.call('HSET', KEYS[1], 'generation', ARGV[1]) end
redis.call('HSET', KEYS[1], 'sealed', ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[3])
if ARGV[5] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[5]) end
return ''`,
};

const REMOVE: StoreScript = {
  name: "record.remove",
  text: `redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])`,
};

const LIST: StoreScript = {
  name: "record.list",
  text: "return redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')",
};

interface StoredRecordsOptions extends Omit<RecordsOptions, "shared"> {
  readonly store: SharedStore;
}

/** A use under a lock retries 10 times as long: tokens that have replaced others would be lost. */
const UNDER_LOCK = 10;

/** Records in the store. Nothing is cached: without the store no record is read or written. */
export class StoredRecords implements Records {
  readonly #locks: StoreLocks;
  /** Records that this process has read or written: they may have changed unnoticed during an outage. */
  readonly #seen = new LRUCache<string, true>({ max: MAX_SEEN });

  /** Records whose lock this process holds. */
  readonly #held = new Set<string>();

  constructor(private readonly options: StoredRecordsOptions) {
    const { store, lockTimes, outageMs } = options;
    this.#locks = new StoreLocks(store, (file) => this.#key(`lock:${file}`), lockTimes, outageMs);
  }

  open(): Promise<void> {
    return Promise.resolve();
  }

  async read(name: RecordName): Promise<{ readonly value: unknown; readonly kid: string } | undefined> {
    this.#seen.set(name.file, true);
    const text = await this.#run(READ, name, []);
    if (typeof text !== "string") return undefined;
    return unsealed(Buffer.from(text, "base64"), name, this.options.keys, PLACE);
  }

  async write(name: RecordName, value: unknown, how: WriteSettings = {}): Promise<void> {
    const { generation = "", lifeMs = "" } = how;
    this.#seen.set(name.file, true);
    const bytes = await sealed(value, name, this.options.keys);
    const args = [generation, bytes.toString("base64"), name.file, Date.now(), lifeMs];
    const newer = String(await this.#run(WRITE, name, args.map(String)));
    if (newer !== "") {
      const sentence = `${name.what} already has generation ${newer}: generation ${generation} does not replace it`;
      throw new VaultError("superseded", sentence);
    }
    this.#publish(name);
  }

  async remove(name: RecordName): Promise<boolean> {
    const removed = (await this.#run(REMOVE, name, [name.file])) === 1;
    this.#publish(name);
    return removed;
  }

  async list(): Promise<readonly StoredRecord[]> {
    const all = (await this.#use("the list of sign-ins", LIST, [this.#index], [])) as readonly string[];
    const found: StoredRecord[] = [];
    for (let at = 0; at < all.length; at += 2) {
      const file = String(all[at]);
      if (isRecordFile(file)) found.push({ ...nameOfFile(file), writtenAt: Number(all[at + 1]) });
    }
    return found;
  }

  async lock(name: RecordName): Promise<HeldLock> {
    const held = await this.#orVaultError(name.what, () => this.#locks.acquire(name));
    this.#held.add(name.file);
    return {
      release: () => {
        this.#held.delete(name.file);
        return held.release();
      },
    };
  }

  watch(listener: (file: string) => void): () => void {
    const { store } = this.options;
    const all = (): void => {
      for (const file of [...this.#seen.keys()]) listener(file);
    };
    const ends = [
      // An empty message: others may have been lost.
      store.subscribe(this.#channel, (file) => (isRecordFile(file) ? listener(file) : all())),
      store.onChange((isUp) => isUp && all()),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  get #channel(): string {
    return `${this.#space}:changed`;
  }

  /** The names of all records, by last write. */
  get #index(): string {
    return this.#key("index");
  }

  get #space(): string {
    return basename(this.options.folder);
  }

  #key(name: string): string {
    return `{${this.#space}}:${name}`;
  }

  #publish({ file }: RecordName): void {
    this.options.store.publish(this.#channel, file);
  }

  #run(script: StoreScript, name: RecordName, args: readonly string[]): Promise<unknown> {
    const keys = [this.#key(name.file), this.#index];
    return this.#use(name.what, script, keys, args, this.#held.has(name.file) ? UNDER_LOCK : 1);
  }

  #use(
    what: string,
    script: StoreScript,
    keys: readonly string[],
    args: readonly string[],
    patience = 1,
  ): Promise<unknown> {
    const { store, outageMs = OUTAGE_MS } = this.options;
    const use = (): Promise<unknown> => store.run(script, keys, args);
    return this.#orVaultError(what, () => throughOutage(store, outageMs * patience, use));
  }

  async #orVaultError<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      const sentence = `${what} cannot be read or written at present: ${PLACE} cannot be reached`;
      throw new VaultError("store", sentence, { cause: error });
    }
  }
}
