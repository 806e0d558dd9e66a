/** Which connections are kept for single clients, how many may there be, and which one ends for another? */
import type { ServerConfig } from "../../config/config.js";
import type { RootsAnswer } from "../../core/call.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { fitsFairShare, isIdentified } from "../../core/fair-share.js";
import type { Logger } from "../../core/logger.js";
import type { ListScope } from "../../core/upstream.js";
import type { JsonObject } from "../../wire/json.js";
import { RememberedHost } from "../legacy/remembered-host.js";
import type { Supervisor } from "../supervision/supervisor.js";
import { ConnectionUse, type UseSettings } from "./connection-use.js";
import { IdleTimer } from "./idle-timer.js";
import { keyWithRoots, slotsOf } from "./lease-keys.js";
import { ConnectionSubscriptions } from "./resource-subscriptions.js";
import type { LeaseHeaders } from "./server-credentials.js";
import { isSpare } from "./upstream-events.js";

/** The clients that a connection is kept for. */
export interface LeaseKey {
  readonly listScope: ListScope;
  /** The id of the principal in whose share it counts: that of its first client. */
  readonly principal: string;
  /** The id of the credentials that the connection carries; undefined where it has none of its own. */
  readonly credentials: string | undefined;
  /** The headers of the host that its requests carry; undefined where there are none. */
  readonly headers: LeaseHeaders;
  /** Whether it opens a session at a modern server too. */
  readonly opensSession: boolean;
  readonly advertised: JsonObject;
  /** The one session whose connection it is; undefined where a principal may have several clients on it. */
  readonly session: Client | undefined;
  /** True for a further connection of the same clients, which only separates their calls. */
  readonly spare: boolean;
  /** Those of all clients with this list scope. */
  readonly subscriptions: ConnectionSubscriptions;
  /** What its server may remember of the hosts whose calls it serves. */
  readonly remembered: RememberedHost;
}

/** What makes a lease; the rest is made with it. */
export type NewLease = Omit<LeaseKey, "subscriptions" | "remembered"> & {
  /** The roots of the hosts that it is kept for; undefined: they are not known. */
  readonly roots?: RootsAnswer | undefined;
};

/** A supervised connection that is kept for some clients. */
export interface Lease extends LeaseKey {
  readonly supervisor: Supervisor;
  /** Where calls and subscriptions over it are recorded; without any it ends soon. */
  readonly use: ConnectionUse;
}

/** The limits of the leases of one server, and how their connections are opened. */
export interface LeaseSettings {
  readonly server: ServerConfig;
  readonly log: Logger;
  /** The new connection waits for `after`: the end of the previous one of the same clients. */
  readonly supervise: (leaseKey: LeaseKey, after: Promise<void>) => Supervisor;
  /** The maximum number of leases. */
  readonly max: number;
  /** The maximum number of leases without a session for one principal, which can declare any combination of capabilities. */
  readonly perPrincipal: number;
  /** The maximum number of leases of sessions for one principal; there is none without authentication. */
  readonly sessionsPerPrincipal: number;
  /** The time (ms) without use before such a lease is evicted for another one: starting a process is expensive. */
  readonly evictAfterMs: number;
  /** The hosts that keep leases open, and the idle timeout of others. */
  readonly use: UseSettings;
  /** Whether a task is open of the clients with this affinity; undefined: of any client. */
  readonly hasOpenTask: (affinity: string | undefined) => boolean;
  /** Whether a call has taken the lease of that key, and may not have been sent yet. */
  readonly isTaken: (key: string) => boolean;
  /** The lease that kept a connection open for these subscriptions is kept for the roots of a host now. */
  readonly onLeft: (subscriptions: ConnectionSubscriptions) => void;
}

interface LeaseEntry extends Lease {
  key: string;
  /** When it was last acquired, be it for a list. */
  usedAt: number;
  /** A sequence number of the last use; two uses may have the same time. */
  lastUse: number;
  readonly idleTimer: IdleTimer;
}

type Owned = readonly [key: string, kept: LeaseEntry];

/** The leases of one server. */
export class Leases {
  readonly #settings: LeaseSettings;
  readonly #entries = new Map<string, LeaseEntry>();
  /** By key: connections that are closing; a process may take a while to exit. */
  readonly #closing = new Map<string, Promise<void>>();
  #closed = false;
  #uses = 0;

  constructor(settings: LeaseSettings) {
    this.#settings = settings;
  }

  /** The lease of that key; the use is not counted. */
  get(key: string): Lease | undefined {
    return this.#entries.get(key);
  }

  /** All leases. */
  all(): readonly Lease[] {
    return [...this.#entries.values()];
  }

  /**
   * The lease of that key, made when there is none. Counts as a use.
   *
   * @throws GatewayError `overloaded` when the principal has reached its limit and all of its leases are in use;
   * `upstream_unavailable` after `close`.
   */
  acquire(key: string, leaseKey: NewLease, idleTimeoutMs = this.#settings.use.idleTimeoutMs): Lease {
    const entry = this.#entries.get(key) ?? this.#make(key, leaseKey, idleTimeoutMs);
    this.#touch(entry);
    return entry;
  }

  /** Counts a use of `lease` by a call of `client`; false where it has ended. */
  renew(lease: Lease, client: Client): boolean {
    const entry = this.#entries.get(lease.listScope.key);
    if (entry === undefined || entry !== lease) return false;
    entry.use.add(client);
    this.#touch(entry);
    return true;
  }

  #touch(entry: LeaseEntry): void {
    entry.usedAt = performance.now();
    this.#uses += 1;
    entry.lastUse = this.#uses;
  }

  /** Ends the lease of that key, if there is one. */
  release(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#end(key, entry);
  }

  /** Ends all leases; new ones may be made. Resolves when their connections have closed. */
  async endAll(): Promise<void> {
    for (const [key, entry] of this.#entries) this.#end(key, entry);
    await Promise.all(this.#closing.values());
  }

  /** Ends all leases for good. */
  close(): Promise<void> {
    this.#closed = true;
    return this.endAll();
  }

  #make(key: string, { roots, ...leaseKey }: NewLease, idleTimeoutMs: () => number): LeaseEntry {
    if (this.#closed) throw stopped(this.#settings.server);
    const own = this.#evictionCandidates(leaseKey, roots !== undefined);
    if (own !== undefined) this.#evict(own, leaseKey.session === undefined ? this.#settings.evictAfterMs : 0);
    const remembered = new RememberedHost({
      roots,
      onRootsTold: (program, told) => this.#move(entry, keyWithRoots(leaseKey.listScope.key, program, told)),
    });
    const whole = { ...leaseKey, subscriptions: this.#subscriptionsOf(leaseKey.listScope), remembered };
    const supervisor = this.#settings.supervise(whole, this.#closing.get(key) ?? Promise.resolve());
    const use = new ConnectionUse({ hosts: this.#settings.use.hosts, idleTimeoutMs });
    const isHeld = (): boolean => isFollowed(whole) || this.#settings.hasOpenTask(leaseKey.session?.affinity);
    const idleTimer = new IdleTimer({
      ...{ supervisor, use, isHeld, idleTimeoutMs },
      end: () => this.#end(entry.key, entry),
    });
    const usedAt = performance.now();
    const entry: LeaseEntry = { ...whole, key, supervisor, use, usedAt, lastUse: 0, idleTimer };
    this.#entries.set(key, entry);
    idleTimer.start();
    return entry;
  }

  /** The server of `entry` has the roots of a host: from now on it is kept for hosts with these. */
  #move(entry: LeaseEntry, key: string): void {
    if (this.#entries.get(entry.key) !== entry) return;
    const wasFirst = entry.key === entry.listScope.key;
    this.#entries.delete(entry.key);
    entry.key = slotsOf(key).find((slot) => !this.#entries.has(slot)) ?? `${key} #${this.#uses}`;
    this.#entries.set(entry.key, entry);
    const { perPrincipal, onLeft } = this.#settings;
    const ofHosts = this.all().filter((one) => one.principal === entry.principal && isForRoots(one));
    if (ofHosts.length > perPrincipal) this.endIdle(entry, 0);
    if (wasFirst && entry.subscriptions.size > 0) onLeft(entry.subscriptions);
  }

  #subscriptionsOf({ key }: ListScope): ConnectionSubscriptions {
    for (const entry of this.#entries.values()) if (entry.listScope.key === key) return entry.subscriptions;
    return new ConnectionSubscriptions();
  }

  /**
   * Ends the connection of the owner that was used least recently, of those that are kept for roots, on which nothing has run
   * for `idleMs` and that no call has taken; false where there is none.
   */
  endIdle({ principal }: Pick<LeaseKey, "principal">, idleMs: number): boolean {
    const before = performance.now() - idleMs;
    const idle = [...this.#entries]
      .filter(([, entry]) => entry.principal === principal && isForRoots(entry))
      .filter(([key, entry]) => !this.#settings.isTaken(key) && !inUse(entry) && entry.usedAt <= before)
      .toSorted(([, a], [, b]) => a.lastUse - b.lastUse);
    const [oldest] = idle;
    if (oldest !== undefined) this.#end(...oldest);
    return oldest !== undefined;
  }

  /** Whether another lease may be made for `owner` without evicting one; `hasRoots`: one that is kept for roots. */
  hasCapacity(owner: Pick<LeaseKey, "principal" | "session" | "headers">, hasRoots: boolean): boolean {
    return this.#evictionCandidates(owner, hasRoots) === undefined;
  }

  /** The principal's leases of which one must be evicted for a new one; undefined where the limits allow one more. */
  #evictionCandidates(
    { principal, session, headers }: Pick<LeaseKey, "principal" | "session" | "headers">,
    hasRoots: boolean,
  ): readonly Owned[] | undefined {
    const { max, perPrincipal, sessionsPerPrincipal } = this.#settings;
    const own = [...this.#entries].filter(([, entry]) => entry.principal === principal);
    if (session === undefined) {
      // Lists need one for each set of capabilities, whatever number of them is kept for roots.
      const isOfKind = (one: Lease): boolean =>
        isForRoots(one) === hasRoots && (one.headers === undefined) === (headers === undefined);
      const shared = own.filter(([, entry]) => entry.session === undefined && isOfKind(entry));
      // A platform serves many tenants as one principal.
      if (shared.length >= (headers === undefined ? perPrincipal : sessionsPerPrincipal)) return shared;
    } else if (isIdentified({ id: principal })) {
      const sessions = own.filter(([, entry]) => entry.session !== undefined);
      if (sessions.length >= sessionsPerPrincipal) return sessions;
    }
    const counted = isIdentified({ id: principal }) ? own.length : 0;
    return fitsFairShare(max, this.#entries.size, counted) ? undefined : own;
  }

  #evict(own: readonly Owned[], evictAfterMs: number): void {
    const before = performance.now() - evictAfterMs;
    const idle = own.filter(
      ([, entry]) => !inUse(entry) && !this.#hasOpenTask(entry) && entry.usedAt <= before,
    );
    const [first, ...others] = idle;
    if (first !== undefined) {
      this.#end(
        ...others.reduce((oldest, one) => (one[1].lastUse < oldest[1].lastUse ? one : oldest), first),
      );
      return;
    }
    const { name: server } = this.#settings.server;
    const sentence =
      own.length === 0
        ? `too many connections to ${server} for single clients, and none belongs to this principal; try again later`
        : `too many connections to ${server} for this principal: all ${own.length} are in use or were until recently; try again later`;
    throw new GatewayError("overloaded", "gateway", sentence, {
      server,
      retryable: true,
      ...(evictAfterMs > 0 && { retryAfterMs: evictAfterMs }),
    });
  }

  /** A task runs on at the server between calls. */
  #hasOpenTask({ session }: LeaseEntry): boolean {
    return session !== undefined && this.#settings.hasOpenTask(session.affinity);
  }

  #end(key: string, entry: LeaseEntry): void {
    const { server, log } = this.#settings;
    entry.idleTimer.stop();
    entry.subscriptions.ended(entry.remembered);
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
    const ending = entry.supervisor
      .close()
      .catch((error: unknown) => log.debug({ server: server.name, error }, "a connection failed to close"))
      .finally(() => {
        if (this.#closing.get(key) === ending) this.#closing.delete(key);
      });
    this.#closing.set(key, ending);
  }
}

const stopped = ({ name: server }: ServerConfig): GatewayError =>
  new GatewayError("upstream_unavailable", "gateway", `${server} was stopped`, { server });

/** Whether resources are followed over it that keep it open: over the first one of its clients, others follow them too. */
const isFollowed = (lease: LeaseKey): boolean => !isSpare(lease) && lease.subscriptions.size > 0;

/** A call is running on it, or a resource is followed over it. */
const inUse = (lease: Lease): boolean => isFollowed(lease) || isBusy(lease.supervisor);

/** Whether the server knows the roots of hosts, for which the connection is kept. */
const isForRoots = ({ session, remembered }: Lease): boolean =>
  session === undefined && remembered.roots !== undefined;

/** Whether a connection is opening, or a call is running on it. */
export const isBusy = ({ current: connected, isConnecting }: Supervisor): boolean =>
  isConnecting || (connected !== undefined && connected.connection.idleSince === undefined);
