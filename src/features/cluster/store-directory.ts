/** Finds the running replicas through their registrations in the shared store. */
import { LRUCache } from "lru-cache";
import { inBackground, type Logger } from "../../core/logger.js";
import type { Replica, ReplicaDirectory } from "../../core/replicas.js";
import { type SharedStore, type StoreScript, untilUp } from "../../core/shared-store.js";
import { isObject, stringAt } from "../../wire/json.js";
import { parseJson } from "../../wire/json-text.js";
import type { AuthenticatedValues } from "./authenticated-values.js";
import { replicaFacts } from "./probe-replica.js";

/** The registration of this replica, and its interval. */
export interface StoreDirectoryOptions {
  readonly id: string;
  readonly version: string;
  /** The time of day in ms. */
  readonly startedAt?: number;
  readonly store: SharedStore;
  /** For registrations. */
  readonly values: AuthenticatedValues;
  readonly logger: Logger;
  /** Called with each replica that is seen for the first time. */
  readonly onJoined?: (replica: Replica) => void;
  /** Without a heartbeat for this time (ms) a replica is gone. */
  readonly ttlMs?: number;
  readonly heartbeatMs?: number;
  /** A monotonic clock in ms. Default: `performance.now()`. */
  readonly now?: () => number;
  /**
   * Called if the registration had expired, e.g. after a stall of the process: other replicas may have taken over its
   * sessions.
   */
  readonly onLapsed?: () => void;
  /** Called if the registration was missing before its expiry: the store has lost its data. */
  readonly onEmptied?: () => void;
}

/** The format of a registration; nothing is forwarded to replicas with another one. */
const SCHEMA = 2;
/** The authenticated lifetime (ms) of a registration, for the case that the clocks agree. */
const VALID_MS = 60_000;
const TTL_MS = 10_000;
const HEARTBEAT_MS = 3_000;
/** A start waits at most this time (ms) for the store. */
const START_MS = 1_000;
/** The number of remembered replicas with an expired registration. */
const MAX_SILENT = 100;
/** The number of registrations whose last heartbeat is remembered. */
const MAX_SEEN = 1_000;

const KEYS = ["{replicas}:until", "{replicas}:info"] as const;

/**
 * Registers ARGV[1] (unless ARGV[2] is empty) for ARGV[3] ms, deletes expired ones, and returns 1 if ARGV[1] is new,
 * and all.
 */
const BEAT: StoreScript = {
  name: "replicas.beat",
  text: `local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local added = 0
if ARGV[2] ~= '' then
  added = redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
end
local all = {added}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  all[#all + 1] = id
  all[#all + 1] = redis.call('HGET', KEYS[2], id) or ''
end
return all`,
};

const LEAVE: StoreScript = {
  name: "replicas.leave",
  text: `redis.call('ZREM', KEYS[1], ARGV[1])
return redis.call('HDEL', KEYS[2], ARGV[1])`,
};

/** A registration as it was last read. */
interface SeenEntry {
  /** Which heartbeat it is of. */
  readonly beat: number;
  /** When that was first read. */
  readonly at: number;
}

/**
 * The directory of this replica; during an outage of the store it keeps its last state. Registrations are authenticated, and
 * count while their heartbeats advance: one that was copied back is none of a replica that runs. A connection to a replica
 * proves it anyway.
 */
export class StoreDirectory implements ReplicaDirectory {
  readonly own: string;
  #others: ReadonlyMap<string, Replica> = new Map();
  #url = "";
  #isLeaving = false;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;
  /** When the last accepted heartbeat was sent; undefined before the first. */
  #beatAt: number | undefined;
  /** When this process last sent a heartbeat; a stalled process sends none. */
  #triedAt: number | undefined;
  #hasStalled = false;
  /** The heartbeat after the one that is under way. */
  #next: Promise<void> | undefined;
  /** Whether the store answered the last heartbeat. */
  #isAnswered = false;
  /** When the store was last found to have lost its data. */
  #emptiedAt = Number.NEGATIVE_INFINITY;
  readonly #silent = new LRUCache<string, Replica>({ max: MAX_SILENT });
  readonly #seen = new LRUCache<string, SeenEntry>({ max: MAX_SEEN });
  /** Registrations that were reported as unreadable. */
  readonly #reported = new LRUCache<string, true>({ max: MAX_SEEN });
  #beats = 0;

  constructor(private readonly options: StoreDirectoryOptions) {
    this.own = options.id;
  }

  get count(): number {
    return this.#others.size + 1;
  }

  others(): readonly Replica[] {
    return [...this.#others.values()];
  }

  /** Whether other replicas certainly consider this one alive, so that it still owns its sessions. */
  get isRegistered(): boolean {
    return this.#beatAt !== undefined && this.#now() - this.#beatAt < this.#ttlMs;
  }

  /**
   * Whether a stall of this process may have made other replicas consider it gone, and the store has not responded
   * since. Without a stall it is an outage of the store, in which each replica keeps its sessions.
   */
  get hasStalled(): boolean {
    return this.#hasStalled || (this.#triedAt !== undefined && this.#now() - this.#triedAt >= this.#ttlMs);
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  async find(issuer: string): Promise<Replica | undefined> {
    const known = this.#others.get(issuer);
    if (known !== undefined || issuer === this.own) return known;
    await this.#readAnew();
    return this.#others.get(issuer);
  }

  /** After a loss the others write their records again with their next heartbeats. */
  async isCertain(): Promise<boolean> {
    await this.#readAnew();
    return this.#isAnswered && this.#now() - this.#emptiedAt >= this.#ttlMs;
  }

  silent(id: string): Replica | undefined {
    return this.#silent.get(id);
  }

  /** Replicas whose registrations are not authentic with the key of this one, or of another version. */
  get unreadable(): readonly string[] {
    return [...this.#reported.keys()];
  }

  /** Reads the registrations once before the first heartbeat. */
  async known(): Promise<void> {
    if (!this.#isAnswered) await this.beat();
  }

  /** Registers this replica at `url`, periodically. Resolves when the store has it, or after a second without the store. */
  async start(url: string): Promise<void> {
    this.#url = url;
    this.#timer = setInterval(() => this.#beatInBackground(), this.options.heartbeatMs ?? HEARTBEAT_MS);
    this.#timer.unref();
    this.options.store.onChange((isUp) => {
      if (isUp) this.#beatInBackground();
    });
    if (await untilUp(this.options.store, START_MS)) await this.#readAnew();
  }

  /** Announces to the others that this replica is about to stop. */
  leave(): Promise<void> {
    this.#isLeaving = true;
    return this.#readAnew();
  }

  /** Another replica has said itself that it is about to stop. */
  markLeaving(id: string): void {
    const replica = this.#others.get(id);
    if (replica !== undefined) this.#others = new Map(this.#others).set(id, { ...replica, isLeaving: true });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const url = this.#url;
    this.#url = "";
    await this.#beating?.catch(() => {});
    if (url !== "") await this.options.store.run(LEAVE, KEYS, [this.own]).catch(() => {});
  }

  /** Registers and reads once; also resolves during an outage. */
  beat(): Promise<void> {
    this.#beating ??= this.#beatOnce().finally(() => {
      this.#beating = undefined;
    });
    return this.#beating;
  }

  /** A heartbeat under way may have been answered before this call: its registrations are not enough. */
  #readAnew(): Promise<void> {
    if (this.#beating === undefined) return this.beat();
    this.#next ??= this.#beating.then(() => {
      this.#next = undefined;
      return this.beat();
    });
    return this.#next;
  }

  async #beatOnce(): Promise<void> {
    const sentAt = this.#now();
    if (this.hasStalled) this.#hasStalled = true;
    if (this.#url !== "") this.#triedAt = sentAt;
    let entries: unknown;
    try {
      entries = await this.options.store.run(BEAT, KEYS, [this.own, this.#entry(), String(this.#ttlMs)]);
    } catch {
      // The store reports its outage itself; the last state still holds.
      this.#isAnswered = false;
      return;
    }
    this.#isAnswered = true;
    const [added, ...listed] = Array.isArray(entries) ? entries : [];
    this.#keep(this.#read(listed));
    const hasLapsed = this.#beatAt !== undefined && sentAt - this.#beatAt >= this.#ttlMs;
    const isMissed = this.#beatAt !== undefined && added === 1;
    if (isMissed && !hasLapsed) this.#emptiedAt = this.#now();
    if (this.#url !== "") this.#beatAt = sentAt;
    if (hasLapsed) this.options.onLapsed?.();
    else if (isMissed) this.options.onEmptied?.();
    this.#hasStalled = false;
  }

  #keep(replicas: ReadonlyMap<string, Replica>): void {
    for (const [id, replica] of this.#others)
      if (!replicas.has(id) && !replica.isLeaving) this.#silent.set(id, replica);
    const joined = [...replicas.values()].filter(({ id }) => !this.#others.has(id));
    for (const id of replicas.keys()) this.#silent.delete(id);
    this.#others = replicas;
    for (const replica of joined) this.options.onJoined?.(replica);
  }

  #now(): number {
    return this.options.now?.() ?? performance.now();
  }

  #beatInBackground(): void {
    inBackground(this.beat(), this.options.logger, "registering this replica");
  }

  #entry(): string {
    if (this.#url === "") return "";
    const { version, startedAt } = this.options;
    const [url, isLeaving] = [this.#url, this.#isLeaving];
    this.#beats += 1;
    const entry = { schema: SCHEMA, beat: this.#beats, url, version, isLeaving, startedAt };
    return this.options.values.seal("replica", this.own, JSON.stringify(entry), VALID_MS);
  }

  #read(entries: readonly unknown[]): ReadonlyMap<string, Replica> {
    const replicas = new Map<string, Replica>();
    for (let at = 0; at + 1 < entries.length; at += 2) {
      const [id, sealed] = [String(entries[at]), String(entries[at + 1])];
      const replica = id === this.own ? undefined : this.#replicaOf(id, sealed);
      if (replica !== undefined) replicas.set(id, replica);
    }
    return replicas;
  }

  #replicaOf(id: string, sealed: string): Replica | undefined {
    const text = this.options.values.open("replica", id, sealed);
    const entry = text === undefined ? undefined : parseJson(text);
    if (!isObject(entry) || entry.schema !== SCHEMA || typeof entry.beat !== "number") {
      this.#report(id);
      return undefined;
    }
    const now = this.#now();
    const seen = this.#seen.get(id);
    if (seen !== undefined && entry.beat < seen.beat) return undefined;
    if (seen !== undefined && entry.beat === seen.beat && now - seen.at >= this.#ttlMs) return undefined;
    if (entry.beat !== seen?.beat) this.#seen.set(id, { beat: entry.beat, at: now });
    const url = stringAt(entry, "url");
    return url === undefined || !URL.canParse(url) ? undefined : { id, url, ...replicaFacts(entry) };
  }

  #report(id: string): void {
    if (this.#reported.has(id)) return;
    this.#reported.set(id, true);
    this.options.logger.warn(
      { replica: id },
      "a registration in the cluster's store is not authentic, or of another version of Cardea: nothing is sent there",
    );
  }

  get #ttlMs(): number {
    return this.options.ttlMs ?? TTL_MS;
  }
}
