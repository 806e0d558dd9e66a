/** Who shares which connection to a legacy server: everybody, one principal, or one session. */
import type { ServerConfig } from "../config/config.js";
import type { Client } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import { type Audience, EVERYBODY } from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import { canBeAsked, classOf } from "./capabilities.js";
import { Following } from "./following.js";
import type { Supervisor } from "./supervise.js";

/** The connection that is kept for some clients alone. */
export interface Lease {
  readonly audience: Audience;
  /** Whoever came first; all who share the lease are one host, or one principal with equal capabilities. */
  readonly client: Client;
  readonly promised: JsonObject;
  readonly supervisor: Supervisor;
  readonly following: Following;
}

export interface LeaseSettings {
  readonly server: ServerConfig;
  readonly supervise: (lease: Omit<Lease, "supervisor">) => Supervisor;
  /** How many there may be at once. */
  readonly max: number;
  /** A lease that nobody used for so long (ms) ends. */
  readonly idleMs: number;
}

/**
 * Whose lists and connection a client gets. By default a client that can be asked something has a connection
 * of its own, so that a question can only be meant for it; those that cannot be asked share one.
 */
export function audienceFor(mode: ServerConfig["lease"], client: Client, promised: JsonObject): Audience {
  if (mode === "shared" || (mode === "auto" && !canBeAsked(promised))) return EVERYBODY;
  const group = canBeAsked(promised) ? classOf(promised) : EVERYBODY.class;
  const key =
    mode === "principal" ? `principal:${client.principal.id}:${classOf(promised)}` : client.affinity;
  return { key, class: group };
}

interface Kept extends Lease {
  usedAt: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** The leases of one server, least recently used first. */
export class Leases {
  readonly #settings: LeaseSettings;
  readonly #kept = new Map<string, Kept>();

  constructor(settings: LeaseSettings) {
    this.#settings = settings;
  }

  get all(): Iterable<Lease> {
    return this.#kept.values();
  }

  /**
   * The lease for `audience`, made when there is none.
   *
   * @throws GatewayError `overloaded` when there are as many as there may be, and all of them are in use.
   */
  get(audience: Audience, client: Client, promised: JsonObject): Lease {
    const kept = this.#kept.get(audience.key) ?? this.#make(audience, client, promised);
    this.#kept.delete(audience.key);
    this.#kept.set(audience.key, kept);
    kept.usedAt = performance.now();
    return kept;
  }

  release(key: string): void {
    const kept = this.#kept.get(key);
    if (kept !== undefined) void this.#end(key, kept);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#kept].map(([key, kept]) => this.#end(key, kept)));
  }

  #make(audience: Audience, client: Client, promised: JsonObject): Kept {
    if (this.#kept.size >= this.#settings.max) this.#makeRoom();
    const lease = { audience, client, promised, following: new Following() };
    const supervisor = this.#settings.supervise(lease);
    const kept: Kept = { ...lease, supervisor, usedAt: performance.now(), timer: undefined };
    this.#waitForIdle(audience.key, kept);
    return kept;
  }

  #makeRoom(): void {
    const { server, max } = this.#settings;
    for (const [key, kept] of this.#kept) {
      if (!inUse(kept)) {
        void this.#end(key, kept);
        return;
      }
    }
    const sentence = `${server.name} already has ${max} connections, each kept for one client, and all are in use`;
    throw new GatewayError("overloaded", "gateway", sentence, { server: server.name, retryable: true });
  }

  #waitForIdle(key: string, kept: Kept): void {
    const { idleMs } = this.#settings;
    kept.timer = setTimeout(
      () => {
        const idle = !inUse(kept) && performance.now() - kept.usedAt >= idleMs;
        if (idle) void this.#end(key, kept);
        else this.#waitForIdle(key, kept);
      },
      Math.max(kept.usedAt + idleMs - performance.now(), idleMs / 10),
    );
    kept.timer.unref();
  }

  async #end(key: string, kept: Kept): Promise<void> {
    clearTimeout(kept.timer);
    if (this.#kept.get(key) === kept) this.#kept.delete(key);
    await kept.supervisor.close();
  }
}

/** Something is under way on it, or somebody waits to hear of a resource. */
function inUse(lease: Lease): boolean {
  const { met } = lease.supervisor;
  return lease.following.size > 0 || (met !== undefined && met.connection.quietSince === undefined);
}
