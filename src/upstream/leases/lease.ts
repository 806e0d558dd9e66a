/** Who shares which connection to a legacy server: everybody, one principal, or one session. */
import type { ServerConfig } from "../../config/config.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { fitsFairShare, isIdentified } from "../../core/fair-share.js";
import type { Logger } from "../../core/logger.js";
import { type ListScope, SHARED_SCOPE } from "../../core/upstream.js";
import type { JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { capabilityClass, includesClientFeatures } from "../protocol/advertised-capabilities.js";
import type { Supervisor } from "../supervision/supervisor.js";
import { ConnectionSubscriptions } from "./resource-subscriptions.js";

/** For whom a connection is kept. */
export interface LeaseKey {
  readonly listScope: ListScope;
  /** The id of the principal in whose share it is: the first who wanted it. */
  readonly principal: string;
  readonly advertised: JsonObject;
  /** The one session whose connection it is; undefined where a principal may have several clients on it. */
  readonly session: Client | undefined;
  /** True for a second connection of the same tenants, which only keeps their calls apart. */
  readonly spare: boolean;
  readonly subscriptions: ConnectionSubscriptions;
}

/** The connection that is kept for some clients alone. */
export interface Lease extends LeaseKey {
  readonly supervisor: Supervisor;
}

export interface LeaseSettings {
  readonly server: ServerConfig;
  readonly log: Logger;
  /** `after`: the end of the tenants' connection before, which the new one must wait for. */
  readonly supervise: (leaseKey: LeaseKey, after: Promise<void>) => Supervisor;
  /** How many there may be at once. */
  readonly max: number;
  /** How many of those that belong to no session one principal may have: it can declare as many kinds as it likes. */
  readonly perPrincipal: number;
  /** One of these gives way to another kind only when it was not used for so long (ms): each start of a process is dear. */
  readonly evictAfterMs: number;
  /** A lease that nobody used for so long (ms) ends. */
  readonly idleMs: number;
}

/**
 * Whose lists and connection a client gets. By default a client that can be asked something has a connection
 * of its own, so that a question can only be meant for it; those that cannot be asked share one, as far as they
 * have the same extensions, by which a server may offer other things (a tool with a page that shows its result).
 */
export function listScopeFor(mode: ServerConfig["lease"], client: Client, advertised: JsonObject): ListScope {
  if (mode === "shared") return SHARED_SCOPE;
  const differs = includesClientFeatures(advertised) || Object.hasOwn(advertised, "extensions");
  const group = differs ? capabilityListScope(advertised) : SHARED_SCOPE;
  if (mode === "auto" && !includesClientFeatures(advertised)) return group;
  const own = mode !== "principal" || !client.session;
  // Of separate parts: an id may have been chosen to look like that of another with something after it.
  const shared = () => writeJson(["principal", client.principal.id, capabilityClass(advertised)]);
  const key = own ? client.affinity : shared();
  return { key, capabilityClass: group.capabilityClass };
}

/**
 * Clients that keep a session and cannot be asked anything, at a server whose shared connection keeps none: the server
 * may list and offer other things in a session.
 */
export const SESSION_LIST_SCOPE: ListScope = {
  key: "sessions",
  capabilityClass: "sessions",
  hasOwnUpdates: true,
};

/** Everybody to whom the same was promised, on one connection. */
function capabilityListScope(advertised: JsonObject): ListScope {
  const name = capabilityClass(advertised);
  return { key: name, capabilityClass: name };
}

/**
 * Clients of equal promises that are told of with each request. Apart from those of a connection to which the same was
 * promised once: in a session a server may list other things.
 */
export function requestListScope(advertised: JsonObject): ListScope {
  const name = `requests:${capabilityClass(advertised)}`;
  return { key: name, capabilityClass: name };
}

interface LeaseEntry extends Lease {
  usedAt: number;
  /** The number of its last use among the uses of all leases; two uses may have the same time. */
  lastUse: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

type Owned = readonly [key: string, kept: LeaseEntry];

/** The leases of one server. */
export class Leases {
  readonly #settings: LeaseSettings;
  readonly #entries = new Map<string, LeaseEntry>();
  /** Connections that are being ended; their processes may take a moment. */
  readonly #closing = new Map<string, Promise<void>>();
  #closed = false;
  #uses = 0;

  constructor(settings: LeaseSettings) {
    this.#settings = settings;
  }

  get(key: string): Lease | undefined {
    return this.#entries.get(key);
  }

  /** All there are. */
  all(): readonly Lease[] {
    return [...this.#entries.values()];
  }

  /**
   * The lease of that key, made when there is none.
   *
   * @throws GatewayError `overloaded` when the principal has as many as it may have, and all of them are in use;
   * `upstream_unavailable` when they were closed.
   */
  acquire(key: string, leaseKey: Omit<LeaseKey, "subscriptions">, idleMs = this.#settings.idleMs): Lease {
    const entry = this.#entries.get(key) ?? this.#make(key, leaseKey, idleMs);
    this.#touch(entry);
    return entry;
  }

  /** Uses `lease` once more; false where it has ended, and the key may lead to another one. */
  renew(lease: Lease): boolean {
    const entry = this.#entries.get(lease.listScope.key);
    if (entry === undefined || entry !== lease) return false;
    this.#touch(entry);
    return true;
  }

  #touch(entry: LeaseEntry): void {
    entry.usedAt = performance.now();
    this.#uses += 1;
    entry.lastUse = this.#uses;
  }

  release(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#end(key, entry);
  }

  /** Ends all there are; others may be made. */
  async endAll(): Promise<void> {
    for (const [key, entry] of this.#entries) this.#end(key, entry);
    await Promise.all(this.#closing.values());
  }

  /** Ends all there are, and makes no others: nobody would end them. */
  close(): Promise<void> {
    this.#closed = true;
    return this.endAll();
  }

  #make(key: string, leaseKey: Omit<LeaseKey, "subscriptions">, idleMs: number): LeaseEntry {
    if (this.#closed) throw stopped(this.#settings.server);
    const own = this.#evictionCandidates(leaseKey);
    if (own !== undefined) this.#evict(own, leaseKey.session === undefined ? this.#settings.evictAfterMs : 0);
    const whole = { ...leaseKey, subscriptions: new ConnectionSubscriptions() };
    const supervisor = this.#settings.supervise(whole, this.#closing.get(key) ?? Promise.resolve());
    const entry: LeaseEntry = {
      ...whole,
      supervisor,
      usedAt: performance.now(),
      lastUse: 0,
      timer: undefined,
    };
    this.#entries.set(key, entry);
    this.#startIdleTimer(key, entry, idleMs);
    return entry;
  }

  /** Whether another one may be made for `leaseKey` without the end of one that is there. */
  hasCapacity(leaseKey: Pick<LeaseKey, "principal" | "session">): boolean {
    return this.#evictionCandidates(leaseKey) === undefined;
  }

  /** The principal's own leases of which one must make room for another; undefined when there is room. */
  #evictionCandidates({
    principal,
    session,
  }: Pick<LeaseKey, "principal" | "session">): readonly Owned[] | undefined {
    const { max, perPrincipal } = this.#settings;
    const own = [...this.#entries].filter(([, entry]) => entry.principal === principal);
    if (session === undefined) {
      const shared = own.filter(([, entry]) => entry.session === undefined);
      if (shared.length >= perPrincipal) return shared;
    }
    const counted = isIdentified({ id: principal }) ? own.length : 0;
    return fitsFairShare(max, this.#entries.size, counted) ? undefined : own;
  }

  #evict(own: readonly Owned[], evictAfterMs: number): void {
    const before = performance.now() - evictAfterMs;
    const idle = own.filter(([, entry]) => !inUse(entry) && entry.usedAt <= before);
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
        ? `${server} has as many connections for single clients as it may have, and none of them is yours`
        : `the connections to ${server} that are kept for you alone (${own.length}) are all in use, or were a moment ago, and there may be no more`;
    throw new GatewayError("overloaded", "gateway", sentence, {
      server,
      retryable: true,
      ...(evictAfterMs > 0 && { retryAfterMs: evictAfterMs }),
    });
  }

  #startIdleTimer(key: string, entry: LeaseEntry, idleMs: number): void {
    const left = entry.usedAt + idleMs - performance.now();
    entry.timer = setTimeout(
      () => {
        const idle = !inUse(entry) && performance.now() - entry.usedAt >= idleMs;
        if (idle) this.#end(key, entry);
        else this.#startIdleTimer(key, entry, idleMs);
      },
      // One that is in use beyond its time is looked at again now and then.
      Math.max(left, idleMs / 10),
    );
    entry.timer.unref();
  }

  #end(key: string, entry: LeaseEntry): void {
    const { server, log } = this.#settings;
    clearTimeout(entry.timer);
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
    const ending = entry.supervisor
      .close()
      .catch((error: unknown) => log.debug({ server: server.name, error }, "a connection did not close well"))
      .finally(() => {
        if (this.#closing.get(key) === ending) this.#closing.delete(key);
      });
    this.#closing.set(key, ending);
  }
}

const stopped = ({ name: server }: ServerConfig): GatewayError =>
  new GatewayError("upstream_unavailable", "gateway", `${server} was stopped`, { server });

/** Something is under way on it, or somebody waits to hear of a resource. */
function inUse({ subscriptions, supervisor }: Lease): boolean {
  return subscriptions.size > 0 || isBusy(supervisor);
}

/** Somebody waits for it to be opened, or for an answer on it. */
export const isBusy = ({ current: connected, isConnecting }: Supervisor): boolean =>
  isConnecting || (connected !== undefined && connected.connection.idleSince === undefined);
