/** Records of legacy sessions that outlive their replica. The store changes their owner by compare-and-set. */
import { createHmac, hkdfSync } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Principal } from "../core/client.js";
import {
  type AdoptedSession,
  type ReplicaDirectory,
  type SessionRecords,
  type SessionState,
  type SharedStore,
  type StoreScript,
  StoreUnavailable,
} from "../core/cluster.js";
import { GatewayError, overloaded } from "../core/errors.js";
import { inBackground, type Logger } from "../core/logger.js";
import { issuerOf } from "../core/owners.js";
import { principalKey } from "../core/principal.js";
import { isObject, objectAt, stringAt } from "../wire/json.js";
import { parseJson } from "../wire/json-text.js";
import type { SessionOwners } from "./replica-owners.js";

/** A directory that knows whether this replica may still trust its own session table. */
interface FencedDirectory extends Pick<ReplicaDirectory, "own" | "others"> {
  /** Whether the other replicas certainly consider this one alive. */
  readonly isRegistered: boolean;
  /** Whether a stall of this process may have made other replicas consider it gone. */
  readonly hasStalled: boolean;
}

/** Dependencies of the records. */
export interface StoredSessionsOptions {
  readonly store: SharedStore;
  readonly directory: FencedDirectory;
  /** Shared by all replicas; digests of principals are made with it. */
  readonly secret: string;
  readonly logger: Logger;
  /** TTL of a record after its last renewal, in ms. Default 40 min: longer than the idle timeout of a session. */
  readonly ttlMs?: number;
  /** Called with the outcome of a takeover. */
  readonly onAdopted?: (outcome: "adopted" | "refused" | "failed") => void;
}

/** The format of a record; other formats are ignored. */
const SCHEMA = 1;
const TTL_MS = 40 * 60_000;
/** Renewals of a record per TTL. */
const RENEWALS = 4;
/** A longer record is not written: its session ends with its replica. In characters. */
const MAX_RECORD_LENGTH = 16_384;
/** Sessions that were handed over, until their replica ends. */
const MAX_MOVED = 10_000;

/** Writes ARGV[2] if the owner is ARGV[1] or absent. */
const WRITE: StoreScript = {
  name: "session.write",
  text: `local owner = redis.call('HGET', KEYS[1], 'owner')
if owner and owner ~= ARGV[1] then return owner end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'record', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return ARGV[1]`,
};

/** Renews a record of the owner ARGV[1]. */
const RENEW: StoreScript = {
  name: "session.renew",
  text: `local owner = redis.call('HGET', KEYS[1], 'owner')
if owner == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return owner or ''`,
};

const READ: StoreScript = {
  name: "session.read",
  text: "return redis.call('HMGET', KEYS[1], 'owner', 'record')",
};

/** Makes ARGV[2] the owner instead of ARGV[1]; returns the current owner. */
const PASS: StoreScript = {
  name: "session.pass",
  text: `local owner = redis.call('HGET', KEYS[1], 'owner')
if owner ~= ARGV[1] then return owner or '' end
redis.call('HSET', KEYS[1], 'owner', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return ARGV[2]`,
};

const REMOVE: StoreScript = {
  name: "session.remove",
  text: `if redis.call('HGET', KEYS[1], 'owner') == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`,
};

/** The records of one replica. */
export class StoredSessions implements SessionRecords, SessionOwners {
  onTaken?: NonNullable<SessionRecords["onTaken"]>;
  /** The sessions of this replica, and the text of each record; undefined for one that could not be written. */
  readonly #held = new Map<string, string | undefined>();
  /** Sessions that this replica has handed over. */
  readonly #moved = new LRUCache<string, true>({ max: MAX_MOVED });
  /** Sessions to verify: other replicas may have taken them over during a stall of this one. */
  #unverified = new Set<string>();
  readonly #digestKey: Buffer;
  readonly #renewal: NodeJS.Timeout;
  readonly #endWatch: () => void;

  constructor(private readonly options: StoredSessionsOptions) {
    this.#digestKey = Buffer.from(hkdfSync("sha256", options.secret, "cardea", "principals of sessions", 32));
    this.#renewal = setInterval(
      () => inBackground(this.#renewAll(), options.logger, "renewing the records of sessions"),
      this.#ttlMs / RENEWALS,
    );
    this.#renewal.unref();
    this.#endWatch = options.store.onChange((isUp) => {
      if (isUp) this.writeAll();
    });
  }

  write(id: string, state: SessionState): void {
    this.#moved.delete(id);
    const text = JSON.stringify({
      schema: SCHEMA,
      ...state,
      principal: this.#digestOf(state.principal),
    });
    if (text.length > MAX_RECORD_LENGTH) {
      this.options.logger.debug({ session: id.slice(0, 8) }, "a session is too large to outlive its replica");
      this.#held.set(id, undefined);
      return;
    }
    this.#held.set(id, text);
    inBackground(this.#writeOne(id, text), this.options.logger, "writing the record of a session");
  }

  remove(id: string): void {
    this.#held.delete(id);
    this.#unverified.delete(id);
    // Without the store it expires.
    const removed = this.#run(REMOVE, id, [this.#own]).catch(() => {});
    inBackground(removed, this.options.logger, "removing the record of a session");
  }

  hasMoved(id: string): boolean {
    return this.#moved.has(id);
  }

  isHeld(id: string): boolean {
    return this.#held.has(id);
  }

  mustVerify(id: string): boolean {
    if (this.#moved.has(id) || this.#unverified.has(id)) return true;
    return !this.options.directory.isRegistered && this.#held.has(id);
  }

  async ownerOf(id: string): Promise<string | undefined> {
    const isHeld = this.#held.has(id);
    let owner: string | undefined;
    try {
      owner = await this.#recordedOwner(id);
    } catch {
      // Sessions of this replica continue without the store, except those that others could take over during a stall.
      if (isHeld && !this.options.directory.hasStalled) return this.#own;
      throw overloaded(
        "the cluster's store, which knows where the session is served, cannot be reached",
        1_000,
      );
    }
    if (owner === this.#own) this.#unverified.delete(id);
    else if (owner === undefined && isHeld) return this.#own;
    else if (this.#held.delete(id)) {
      this.#unverified.delete(id);
      this.#moved.set(id, true);
      this.onTaken?.(id);
    }
    return owner;
  }

  /** A record of this replica that the store has lost, e.g. by a restart, is written again. */
  async #recordedOwner(id: string): Promise<string | undefined> {
    const [owner] = (await this.#run(READ, id, [])) as readonly unknown[];
    if (typeof owner === "string" && owner !== "") return owner;
    const text = this.#held.get(id);
    if (text === undefined) return undefined;
    return String(await this.#run(WRITE, id, [this.#own, text, String(this.#ttlMs)]));
  }

  async claim(id: string, owner: string): Promise<string | undefined> {
    try {
      const next = await this.#run(PASS, id, [owner, this.#own, String(this.#ttlMs)]);
      return typeof next === "string" && next !== "" ? next : undefined;
    } catch (error) {
      throw this.#asOutage(error);
    }
  }

  async adopt(id: string, principal: Principal, endpoint: string): Promise<AdoptedSession | undefined> {
    if (this.#held.has(id) || issuerOf(id) === undefined) return undefined;
    const { onAdopted = () => {} } = this.options;
    try {
      const [owner, text] = (await this.#run(READ, id, [])) as readonly unknown[];
      const record = recordIn(text);
      const isOwn = record?.principal === this.#digestOf(principal) && record.endpoint === endpoint;
      if (owner !== this.#own) {
        // It is not over: its host comes again, and is forwarded.
        if (isOwn && typeof owner === "string") throw overloaded("another replica serves the session", 1_000);
        return undefined;
      }
      if (record === undefined || !isOwn) {
        onAdopted("refused");
        return undefined;
      }
      this.#held.set(id, String(text));
      onAdopted("adopted");
      return { ...record, from: issuerOf(id) ?? this.#own };
    } catch (error) {
      if (!(error instanceof GatewayError)) onAdopted("failed");
      throw this.#asOutage(error);
    }
  }

  /** An outage of the store is a refusal; any other error is a bug. */
  #asOutage(error: unknown): unknown {
    return error instanceof StoreUnavailable
      ? overloaded("the session could not be taken over: the cluster's store cannot be reached", 1_000)
      : error;
  }

  release(id: string): void {
    this.#held.delete(id);
  }

  async move(id: string): Promise<boolean> {
    const target = this.#targetFor(id);
    if (target === undefined || this.#held.get(id) === undefined) return false;
    const owner = await this.#run(PASS, id, [this.#own, target, String(this.#ttlMs)]).catch(() => undefined);
    if (owner !== target) return false;
    this.#held.delete(id);
    this.#moved.set(id, true);
    return true;
  }

  /** Other replicas may have taken over sessions of this one: each is verified at its next use. */
  lapsed(): void {
    this.#unverified = new Set(this.#held.keys());
  }

  close(): void {
    clearInterval(this.#renewal);
    this.#endWatch();
  }

  /** Every replica chooses the same target (rendezvous hashing), among those that stay. */
  #targetFor(id: string): string | undefined {
    const weighed = this.options.directory
      .others()
      .filter(({ isLeaving }) => !isLeaving)
      .map((replica) => ({
        id: replica.id,
        weight: createHmac("sha256", replica.id).update(id).digest("hex"),
      }));
    return weighed.sort((one, two) => (one.weight < two.weight ? 1 : -1))[0]?.id;
  }

  async #writeOne(id: string, text: string): Promise<void> {
    const owner = await this.#run(WRITE, id, [this.#own, text, String(this.#ttlMs)]).catch(() => undefined);
    // Another replica has taken it over: it is verified, and ended, at its next use.
    if (owner !== undefined && owner !== this.#own) this.#unverified.add(id);
  }

  /** The store is back, or has lost its data: every record is written again. */
  writeAll(): void {
    inBackground(this.#writeAll(), this.options.logger, "writing the records of sessions");
  }

  async #writeAll(): Promise<void> {
    for (const [id, text] of [...this.#held]) if (text !== undefined) await this.#writeOne(id, text);
  }

  async #renewAll(): Promise<void> {
    for (const [id, text] of [...this.#held]) {
      if (text === undefined) continue;
      const owner = await this.#run(RENEW, id, [this.#own, String(this.#ttlMs)]).catch(() => this.#own);
      if (owner === "") await this.#writeOne(id, text);
      else if (owner !== this.#own) this.#unverified.add(id);
    }
  }

  #run(script: StoreScript, id: string, args: readonly string[]): Promise<unknown> {
    return this.options.store.run(script, [`session:{${id}}`], args);
  }

  #digestOf(principal: Principal): string {
    return createHmac("sha256", this.#digestKey).update(principalKey(principal)).digest("base64url");
  }

  get #own(): string {
    return this.options.directory.own;
  }

  get #ttlMs(): number {
    return this.options.ttlMs ?? TTL_MS;
  }
}

/** A record with the digest of its principal; undefined for other text or another format. */
function recordIn(text: unknown) {
  let record: unknown;
  try {
    record = parseJson(String(text));
  } catch {
    return undefined;
  }
  if (!isObject(record) || record.schema !== SCHEMA) return undefined;
  const { endpoint, revision, principal, subscriptions } = record;
  const capabilities = objectAt(record, "capabilities");
  if (typeof endpoint !== "string" || typeof revision !== "string" || typeof principal !== "string")
    return undefined;
  if (capabilities === undefined || !Array.isArray(subscriptions)) return undefined;
  const info = objectAt(record, "info");
  const logLevel = stringAt(record, "logLevel");
  return {
    ...{ endpoint, revision, principal, capabilities },
    ...(info !== undefined && { info }),
    ...(logLevel !== undefined && { logLevel }),
    subscriptions: subscriptions.filter((uri) => typeof uri === "string"),
  };
}
