/**
 * Records of legacy sessions that outlive their replica. The store changes their owner by compare-and-set. Owners and records are
 * authenticated; whether a record is the last one, and its session has not ended, the other replicas know.
 */
import { createHmac, hkdfSync } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Principal } from "../../core/client.js";
import { GatewayError, overloaded } from "../../core/errors.js";
import { inBackground, type Logger } from "../../core/logger.js";
import { issuerOf } from "../../core/owners.js";
import { principalKey } from "../../core/principal.js";
import type { AdoptedSession, ReplicaDirectory, SessionRecords, SessionState } from "../../core/replicas.js";
import { isRecent, recordIn, recordText } from "../../core/session-record.js";
import { type SharedStore, type StoreScript, StoreUnavailable } from "../../core/shared-store.js";
import type { AuthenticatedValues } from "./authenticated-values.js";
import type { PeerMessages } from "./peer-messages.js";
import type { SessionOwners } from "./replica-owners.js";
import { PASS, READ, REMOVE, RENEW, WRITE } from "./session-scripts.js";
import { SharedFacts } from "./shared-facts.js";
import { successorOf } from "./successor.js";

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
  /** For owners and records. */
  readonly values: AuthenticatedValues;
  /** Tells and asks other replicas which sessions live. */
  readonly messages: PeerMessages;
  readonly logger: Logger;
  /** TTL of a record after its last renewal, in ms. Default 40 min: longer than the idle timeout of a session. */
  readonly ttlMs?: number;
  /** Called with the outcome of a takeover. */
  readonly onAdopted?: (outcome: "adopted" | "refused" | "failed") => void;
}

/** What replicas ask each other: who serves this session? */
const HELD = "sessions:held";
const TTL_MS = 40 * 60_000;
/** Renewals of a record per TTL. */
const RENEWALS = 4;
/** A longer record is not written: its session ends with its replica. In characters. */
const MAX_RECORD_LENGTH = 16_384;
/** Sessions that were handed over, until their replica ends. */
const MAX_MOVED = 10_000;

/** Records written together when the store is back: a replica that ends meanwhile loses the sessions of the others. */
const WRITTEN_AT_ONCE = 100;

/** A record as the store gets it. */
interface WrittenRecord {
  readonly text: string;
  readonly version: number;
}

/** The records of one replica. */
export class StoredSessions implements SessionRecords, SessionOwners {
  onTaken?: NonNullable<SessionRecords["onTaken"]>;
  /** The sessions of this replica, and the record of each; undefined for one that cannot be written. */
  readonly #held = new Map<string, WrittenRecord | undefined>();
  /** Sessions that this replica has handed over. */
  readonly #moved = new LRUCache<string, true>({ max: MAX_MOVED });
  /** Sessions to verify: other replicas may have taken them over during a stall of this one. */
  #unverified = new Set<string>();
  /** Which sessions there are, by the versions of their records. */
  readonly facts: SharedFacts;
  /** Sessions that this replica is about to serve, or to hand over. */
  readonly #adopting = new Set<string>();
  readonly #moving = new Set<string>();
  /** The time of day in ms. */
  readonly #startedAt = Date.now();
  readonly #digestKey: Buffer;
  readonly #renewal: NodeJS.Timeout;
  readonly #endWatch: () => void;

  constructor(private readonly options: StoredSessionsOptions) {
    const { messages, logger } = options;
    this.facts = new SharedFacts({ messages, logger, kind: "session", lifeMs: this.#ttlMs });
    messages.answer(HELD, ({ id }) => ({ isHeld: typeof id === "string" && this.#serves(id) }));
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

  write(id: string, state: SessionState): undefined {
    this.#moved.delete(id);
    const version = this.#next(id);
    const content = recordText(version, state, this.#digestOf(state.principal));
    const text = this.options.values.seal("session", id, content);
    if (text.length > MAX_RECORD_LENGTH) {
      this.options.logger.debug({ session: id.slice(0, 8) }, "a session is too large to outlive its replica");
      this.#held.set(id, undefined);
      return;
    }
    const record = { text, version };
    this.#held.set(id, record);
    inBackground(this.#writeOne(id, record), this.options.logger, "writing the record of a session");
  }

  remove(id: string): void {
    this.facts.set(id, undefined, { version: this.#next(id) });
    this.#held.delete(id);
    this.#unverified.delete(id);
    this.facts.tellSoon(id);
    // Without the store it expires.
    const removed = this.#run(REMOVE, id, [this.#ownerText(id)]).catch(() => {});
    inBackground(removed, this.options.logger, "removing the record of a session");
  }

  mayAdopt(id: string): boolean {
    const issuer = issuerOf(id);
    // A session of this replica is adopted only if another one has taken it over; any other has ended.
    return issuer !== undefined && (issuer !== this.#own || this.#moved.has(id));
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

  /** The authentic owner. A record of this replica that the store has lost, e.g. by a restart, is written again. */
  async #recordedOwner(id: string): Promise<string | undefined> {
    const [recorded] = (await this.#run(READ, id, [])) as readonly unknown[];
    const owner = this.#ownerIn(id, recorded);
    if (owner !== undefined) return owner;
    const record = this.#held.get(id);
    return record === undefined ? undefined : this.#writeOver(id, record, recorded);
  }

  async holder(id: string): Promise<string | undefined> {
    const { answers } = await this.options.messages.ask(HELD, { id });
    return answers.find(({ answer }) => answer.isHeld === true)?.from;
  }

  async claim(id: string, owner: string): Promise<string | undefined> {
    try {
      const texts = [this.#ownerText(id, owner), this.#ownerText(id)];
      return this.#ownerIn(id, await this.#run(PASS, id, [...texts, String(this.#ttlMs)]));
    } catch (error) {
      throw this.#asOutage(error);
    }
  }

  async adopt(id: string, principal: Principal, endpoint: string): Promise<AdoptedSession | undefined> {
    if (this.#held.has(id) || issuerOf(id) === undefined) return undefined;
    const { onAdopted = () => {} } = this.options;
    try {
      const [owner, text] = (await this.#run(READ, id, [])) as readonly unknown[];
      const record = recordIn(this.options.values.open("session", id, text));
      const isOwn = record?.principal === this.#digestOf(principal) && record.endpoint === endpoint;
      const recorded = this.#ownerIn(id, owner);
      if (recorded !== this.#own) {
        // Unless it is over, its host comes again, and is forwarded.
        if (isOwn && recorded !== undefined && !this.facts.hasEnded(id))
          throw overloaded("another replica serves the session", 1_000);
        return undefined;
      }
      this.#adopting.add(id);
      if (record === undefined || !isOwn || !(await this.#isLast(id, record))) {
        onAdopted("refused");
        return undefined;
      }
      this.#held.set(id, { text: String(text), version: record.version });
      onAdopted("adopted");
      return { ...record, from: issuerOf(id) ?? this.#own };
    } catch (error) {
      if (!(error instanceof GatewayError)) onAdopted("failed");
      throw this.#asOutage(error);
    } finally {
      this.#adopting.delete(id);
    }
  }

  /**
   * Whether the session lives, no other replica serves it, and no later record was written. The store may have been given an
   * earlier one again, so a session that no running replica knows is none, unless it was opened just now.
   * @throws GatewayError `overloaded` while a replica that may know it does not answer
   */
  async #isLast(id: string, { version, at }: { readonly version: number; readonly at: number }) {
    const [{ fact: known, unreached }, holder] = await Promise.all([this.facts.askAll(id), this.holder(id)]);
    if (holder !== undefined) return false;
    if (known === undefined) {
      if (isRecent(at, this.#startedAt)) return true;
      if (unreached.length > 0)
        throw overloaded("a replica that may know the session does not answer", 1_000);
      return false;
    }
    return known.value !== undefined && version >= known.version;
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
    const target = successorOf(id, this.options.directory.others());
    if (target === undefined || this.#held.get(id) === undefined) return false;
    const texts = [this.#ownerText(id), this.#ownerText(id, target)];
    this.#moving.add(id);
    const owner = await this.#run(PASS, id, [...texts, String(this.#ttlMs)]).catch(() => undefined);
    this.#moving.delete(id);
    if (owner !== texts[1]) return false;
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
    this.facts.close();
    this.#endWatch();
  }

  async #writeOne(id: string, record: WrittenRecord): Promise<void> {
    const owner = await this.#writeOver(id, record).catch(() => this.#own);
    // Another replica has taken it over: it is verified, and ended, at its next use.
    if (owner !== this.#own) this.#unverified.add(id);
  }

  /** Writes a record of this replica; its owner afterwards. What is no owner, as `recorded` may be, is overwritten. */
  async #writeOver(id: string, record: WrittenRecord, recorded?: unknown): Promise<string> {
    const { text, version } = record;
    const args = [this.#ownerText(id), text, String(this.#ttlMs)];
    let found = await this.#run(WRITE, id, [...args, typeof recorded === "string" ? recorded : ""]);
    if (this.#ownerIn(id, found) === undefined) found = await this.#run(WRITE, id, [...args, String(found)]);
    const owner = this.#ownerIn(id, found) ?? this.#own;
    if (owner !== this.#own) return owner;
    // Only now do others know of it: a record of a version that they know can be read.
    this.facts.set(id, {}, { version });
    this.facts.tellSoon(id);
    return owner;
  }

  #next(id: string): number {
    return Math.max(this.facts.next(id), (this.#held.get(id)?.version ?? 0) + 1);
  }

  /** The store is back, or has lost its data: every record is written again. */
  writeAll(): void {
    inBackground(this.#writeAll(), this.options.logger, "writing the records of sessions");
  }

  async #writeAll(): Promise<void> {
    const written: Promise<void>[] = [];
    for (const [id, record] of [...this.#held]) {
      if (record !== undefined) written.push(this.#writeOne(id, record));
      if (written.length >= WRITTEN_AT_ONCE) await Promise.all(written.splice(0));
    }
    await Promise.all(written);
  }

  async #renewAll(): Promise<void> {
    for (const [id, record] of [...this.#held]) {
      if (record === undefined) continue;
      this.facts.renew(id);
      this.facts.tellSoon(id);
      const own = this.#ownerText(id);
      const owner = await this.#run(RENEW, id, [own, String(this.#ttlMs)]).catch(() => own);
      if (owner !== own) await this.#writeOne(id, record);
    }
  }

  #run(script: StoreScript, id: string, args: readonly string[]): Promise<unknown> {
    return this.options.store.run(script, [`session:{${id}}`], args);
  }

  /** What the store has for the owner of a session. */
  #ownerText(id: string, owner = this.#own): string {
    return this.options.values.seal("owner", id, owner);
  }

  #ownerIn(id: string, text: unknown): string | undefined {
    return this.options.values.open("owner", id, text);
  }

  /** Whether no other replica may take the session over: it is certain that this one serves it. */
  #serves(id: string): boolean {
    if (this.#adopting.has(id)) return true;
    return this.#held.has(id) && !this.#moving.has(id) && !this.mustVerify(id);
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
