/** Who shares which connection to a legacy server: everybody, one principal, or one session. */
import type { ServerConfig } from "../config/config.js";
import type { Client } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import { mayTake, sharesWithOthers } from "../core/shares.js";
import { type Audience, EVERYBODY } from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import { canBeAsked, classOf } from "./capabilities.js";
import { Following } from "./following.js";
import type { Supervisor } from "./supervise.js";

/** For whom a connection is kept. */
export interface Tenancy {
  readonly audience: Audience;
  /** The id of the principal in whose share it is: the first who wanted it. */
  readonly principal: string;
  readonly promised: JsonObject;
  /** The one session whose connection it is; undefined where a principal may have several clients on it. */
  readonly session: Client | undefined;
  /** True for a second connection of the same tenants, which only keeps their calls apart. */
  readonly spare: boolean;
  readonly following: Following;
}

/** The connection that is kept for some clients alone. */
export interface Lease extends Tenancy {
  readonly supervisor: Supervisor;
}

export interface LeaseSettings {
  readonly server: ServerConfig;
  readonly log: Logger;
  /** `after`: the end of the tenants' connection before, which the new one must wait for. */
  readonly supervise: (tenancy: Tenancy, after: Promise<void>) => Supervisor;
  /** How many there may be at once. */
  readonly max: number;
  /** How many of those that belong to no session one principal may have: it can declare as many kinds as it likes. */
  readonly perPrincipal: number;
  /** One of these gives way to another kind only when it was not used for so long (ms): each start of a process is dear. */
  readonly settledMs: number;
  /** A lease that nobody used for so long (ms) ends. */
  readonly idleMs: number;
}

/**
 * Whose lists and connection a client gets. By default a client that can be asked something has a connection
 * of its own, so that a question can only be meant for it; those that cannot be asked share one, as far as they
 * have the same extensions, by which a server may offer other things (a tool with a page that shows its result).
 */
export function audienceFor(mode: ServerConfig["lease"], client: Client, promised: JsonObject): Audience {
  if (mode === "shared") return EVERYBODY;
  const differs = canBeAsked(promised) || Object.hasOwn(promised, "extensions");
  const group = differs ? audienceOf(promised) : EVERYBODY;
  if (mode === "auto" && !canBeAsked(promised)) return group;
  const own = mode !== "principal" || !client.session;
  // Of separate parts: an id may have been chosen to look like that of another with something after it.
  const shared = () => writeJson(["principal", client.principal.id, classOf(promised)]);
  const key = own ? client.affinity : shared();
  return { key, class: group.class };
}

/**
 * Clients that keep a session and cannot be asked anything, at a server whose shared connection keeps none: the server
 * may list and offer other things in a session.
 */
export const IN_SESSIONS: Audience = { key: "sessions", class: "sessions", isApart: true };

/** Everybody to whom the same was promised, on one connection. */
function audienceOf(promised: JsonObject): Audience {
  const name = classOf(promised);
  return { key: name, class: name };
}

/**
 * Clients of equal promises that are told of with each request. Apart from those of a connection to which the same was
 * promised once: in a session a server may list other things.
 */
export function audienceOfRequests(promised: JsonObject): Audience {
  const name = `requests:${classOf(promised)}`;
  return { key: name, class: name };
}

interface Kept extends Lease {
  usedAt: number;
  /** The number of its last use among the uses of all leases; two uses may have the same time. */
  lastUse: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

type Owned = readonly [key: string, kept: Kept];

/** The leases of one server. */
export class Leases {
  readonly #settings: LeaseSettings;
  readonly #kept = new Map<string, Kept>();
  /** Connections that are being ended; their processes may take a moment. */
  readonly #ending = new Map<string, Promise<void>>();
  #closed = false;
  #uses = 0;

  constructor(settings: LeaseSettings) {
    this.#settings = settings;
  }

  get(key: string): Lease | undefined {
    return this.#kept.get(key);
  }

  /** All there are. */
  all(): readonly Lease[] {
    return [...this.#kept.values()];
  }

  /**
   * The lease of that key, made when there is none.
   *
   * @throws GatewayError `overloaded` when the principal has as many as it may have, and all of them are in use;
   * `upstream_unavailable` when they were closed.
   */
  use(key: string, tenancy: Omit<Tenancy, "following">, idleMs = this.#settings.idleMs): Lease {
    const kept = this.#kept.get(key) ?? this.#make(key, tenancy, idleMs);
    this.#touch(kept);
    return kept;
  }

  /** Uses `lease` once more; false where it has ended, and the key may lead to another one. */
  useAgain(lease: Lease): boolean {
    const kept = this.#kept.get(lease.audience.key);
    if (kept === undefined || kept !== lease) return false;
    this.#touch(kept);
    return true;
  }

  #touch(kept: Kept): void {
    kept.usedAt = performance.now();
    this.#uses += 1;
    kept.lastUse = this.#uses;
  }

  release(key: string): void {
    const kept = this.#kept.get(key);
    if (kept !== undefined) this.#end(key, kept);
  }

  /** Ends all there are; others may be made. */
  async endAll(): Promise<void> {
    for (const [key, kept] of this.#kept) this.#end(key, kept);
    await Promise.all(this.#ending.values());
  }

  /** Ends all there are, and makes no others: nobody would end them. */
  close(): Promise<void> {
    this.#closed = true;
    return this.endAll();
  }

  #make(key: string, tenancy: Omit<Tenancy, "following">, idleMs: number): Kept {
    if (this.#closed) throw stopped(this.#settings.server);
    const own = this.#crowd(tenancy);
    if (own !== undefined) this.#makeRoom(own, tenancy.session === undefined ? this.#settings.settledMs : 0);
    const whole = { ...tenancy, following: new Following() };
    const supervisor = this.#settings.supervise(whole, this.#ending.get(key) ?? Promise.resolve());
    const kept: Kept = { ...whole, supervisor, usedAt: performance.now(), lastUse: 0, timer: undefined };
    this.#kept.set(key, kept);
    this.#waitForIdle(key, kept, idleMs);
    return kept;
  }

  /** Whether another one may be made for `tenancy` without the end of one that is there. */
  hasRoom(tenancy: Pick<Tenancy, "principal" | "session">): boolean {
    return this.#crowd(tenancy) === undefined;
  }

  /** The principal's own leases of which one must make room for another; undefined when there is room. */
  #crowd({ principal, session }: Pick<Tenancy, "principal" | "session">): readonly Owned[] | undefined {
    const { max, perPrincipal } = this.#settings;
    const own = [...this.#kept].filter(([, kept]) => kept.principal === principal);
    if (session === undefined) {
      const shared = own.filter(([, kept]) => kept.session === undefined);
      if (shared.length >= perPrincipal) return shared;
    }
    const counted = sharesWithOthers({ id: principal }) ? own.length : 0;
    return mayTake(max, this.#kept.size, counted) ? undefined : own;
  }

  #makeRoom(own: readonly Owned[], settledMs: number): void {
    const before = performance.now() - settledMs;
    const idle = own.filter(([, kept]) => !inUse(kept) && kept.usedAt <= before);
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
      ...(settledMs > 0 && { retryAfterMs: settledMs }),
    });
  }

  #waitForIdle(key: string, kept: Kept, idleMs: number): void {
    const left = kept.usedAt + idleMs - performance.now();
    kept.timer = setTimeout(
      () => {
        const idle = !inUse(kept) && performance.now() - kept.usedAt >= idleMs;
        if (idle) this.#end(key, kept);
        else this.#waitForIdle(key, kept, idleMs);
      },
      // One that is in use beyond its time is looked at again now and then.
      Math.max(left, idleMs / 10),
    );
    kept.timer.unref();
  }

  #end(key: string, kept: Kept): void {
    const { server, log } = this.#settings;
    clearTimeout(kept.timer);
    if (this.#kept.get(key) === kept) this.#kept.delete(key);
    const ending = kept.supervisor
      .close()
      .catch((error: unknown) => log.debug({ server: server.name, error }, "a connection did not close well"))
      .finally(() => {
        if (this.#ending.get(key) === ending) this.#ending.delete(key);
      });
    this.#ending.set(key, ending);
  }
}

const stopped = ({ name: server }: ServerConfig): GatewayError =>
  new GatewayError("upstream_unavailable", "gateway", `${server} was stopped`, { server });

/** Something is under way on it, or somebody waits to hear of a resource. */
function inUse({ following, supervisor }: Lease): boolean {
  return following.size > 0 || isBusy(supervisor);
}

/** Somebody waits for it to be opened, or for an answer on it. */
export const isBusy = ({ met, isConnecting }: Supervisor): boolean =>
  isConnecting || (met !== undefined && met.connection.quietSince === undefined);
