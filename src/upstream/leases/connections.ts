/** Which connections are there to one server, and when does each begin and end? */
import type { ServerConfig } from "../../config/config.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { inBackground } from "../../core/logger.js";
import { SHARED_SCOPE, type UpstreamState } from "../../core/upstream.js";
import type { JsonObject } from "../../wire/json.js";
import type { Connected } from "../supervision/connect.js";
import type { UpstreamSettings } from "../supervision/options.js";
import { Supervisor } from "../supervision/supervisor.js";
import { connectionPlan, listScopeOf, probingPlan } from "./connection-plan.js";
import { ConnectionUse } from "./connection-use.js";
import {
  EVICT_AFTER_MS,
  ExclusiveConnections,
  MAX_PER_PRINCIPAL,
  MAX_SESSIONS_PER_PRINCIPAL,
  wayOf,
} from "./exclusive-connections.js";
import { IdleTimer } from "./idle-timer.js";
import { KnownServer } from "./known-server.js";
import { type Lease, type LeaseKey, Leases } from "./lease.js";
import { type OpenSettings, openConnection } from "./open-connection.js";
import { ClientSubscriptions, ConnectionSubscriptions } from "./resource-subscriptions.js";
import { RivalCopies } from "./rival-copies.js";
import { RootsAtStart } from "./roots-at-start.js";
import { isSpare, type UpstreamEvents } from "./upstream-events.js";

/** When the connections of a server begin and end. */
export type ServerLifetime = Pick<ServerConfig, "start" | "idleTimeoutMs">;

/** The connection that all clients share, and the leases: connections that are kept for single clients. */
export class Connections {
  readonly shared: Supervisor;
  readonly leases: Leases;
  readonly exclusive: ExclusiveConnections;
  /** The calls and subscriptions over the shared connection. */
  readonly sharedUse: ConnectionUse;
  /** What decides which of them a client uses. */
  readonly known: KnownServer;
  readonly roots: RootsAtStart;
  /** What clients follow over them. */
  readonly resources = new ClientSubscriptions({
    choose: (client) => this.#subscriptionsOf(client),
    whenOpen: (client) => this.#openSubscriptionsOf(client),
    onLost: (error) =>
      this.#settings.log.warn({ server: this.#server.name, error }, "a resource subscription was lost"),
  });
  readonly #sharedIdleTimer: IdleTimer;
  #lifetime: ServerLifetime;
  readonly #server: ServerConfig;
  readonly #settings: UpstreamSettings;
  readonly #events: UpstreamEvents;
  readonly #sharedSubscriptions = new ConnectionSubscriptions();
  readonly #opening: OpenSettings;
  readonly #copies: RivalCopies;

  /** Opens nothing yet. `onSeparated`: from now on clients may use other connections than before. */
  constructor(
    server: ServerConfig,
    settings: UpstreamSettings,
    events: UpstreamEvents,
    onSeparated: () => void,
  ) {
    this.#server = server;
    this.#settings = settings;
    this.#events = events;
    const { log, lifecycle, questions } = settings;
    this.#copies = new RivalCopies(server, log);
    this.known = new KnownServer(server, settings, {
      onSessionsRefused: () => {
        // Leases that stay would be opened again.
        this.#endLeases();
        this.resources.resubscribeAll();
      },
      onCredentialsNeeded: () => {
        onSeparated();
        this.resources.resubscribeAll();
      },
      onCredentialsChanged: (id, isSignedIn) => this.#onCredentials(id, isSignedIn),
    });
    const isPipe = server.transport.kind === "stdio";
    this.roots = new RootsAtStart(isPipe);
    const { known, roots } = this;
    this.#opening = { server, settings, known, events, rootsRequests: roots.requests };
    this.#lifetime = server;
    const way = wayOf(server);
    const use = { hosts: questions.directory, idleTimeoutMs: () => this.#lifetime.idleTimeoutMs };
    const { hasOpenTask } = lifecycle;
    this.shared = this.#supervise(undefined, lifecycle.after);
    this.sharedUse = new ConnectionUse(use);
    this.#sharedIdleTimer = new IdleTimer({
      supervisor: this.shared,
      use: this.sharedUse,
      isHeld: () => !this.startsOnDemand || this.#sharedSubscriptions.size > 0 || hasOpenTask(undefined),
      idleTimeoutMs: use.idleTimeoutMs,
      end: () => this.#restShared(),
    });
    this.leases = new Leases({
      server,
      log,
      max: lifecycle.maxLeases,
      perPrincipal: MAX_PER_PRINCIPAL[way],
      sessionsPerPrincipal: MAX_SESSIONS_PER_PRINCIPAL[way],
      evictAfterMs: EVICT_AFTER_MS[way],
      use,
      hasOpenTask,
      isTaken: (key) => this.exclusive.isTaken(key),
      onLeft: (subscriptions) => this.resources.reopen(subscriptions),
      supervise: (leaseKey, after) => {
        this.#endUnusedProcess();
        const { lastClosed } = this.shared;
        return this.#supervise(leaseKey, isPipe ? after.then(() => lastClosed) : after);
      },
    });
    this.exclusive = new ExclusiveConnections(this.leases, way);
  }

  /** What an upstream of a later process may begin with; undefined until the shared connection was open. */
  get memory(): JsonObject | undefined {
    return this.known.memory(this.shared.current?.connection.facts);
  }

  /** Whether the shared connection is opened by its first use, and ended when nothing uses it. */
  get startsOnDemand(): boolean {
    return this.#lifetime.start === "demand";
  }

  /** Opens the shared connection now; on demand only where the server or its lists are not known yet. */
  start(listsAreKnown: boolean): void {
    if (this.startsOnDemand && this.known.facts !== undefined && listsAreKnown) this.shared.startIdle();
    else this.shared.start();
  }

  /** Takes over what a new config says of the times at which connections begin and end. */
  setLifetime(lifetime: ServerLifetime): void {
    this.#lifetime = lifetime;
    if (!this.startsOnDemand) this.shared.start();
    this.#sharedIdleTimer.check();
  }

  /** The connection of a lease, or the shared one, that `client` uses now; it may not be open. */
  supervisorOf(client: Client | undefined): Supervisor | undefined {
    if (client === undefined) return this.shared;
    const { key } = listScopeOf(client, this.known);
    const lease = this.leases.get(key)?.supervisor;
    if (this.known.credentials.separates(client)) return lease;
    return lease ?? (key === SHARED_SCOPE.key || this.known.era === "modern" ? this.shared : undefined);
  }

  /** The session of that affinity has ended. */
  release(affinity: string): void {
    this.leases.release(affinity);
    this.sharedUse.release(affinity);
    this.#sharedIdleTimer.check();
  }

  /** All open connections. */
  get open(): readonly Connected[] {
    return this.#supervisors.flatMap(({ current }) => current ?? []);
  }

  /**
   * The lease of `client`, made when there is none; undefined when it uses the shared connection.
   *
   * @throws GatewayError `overloaded` when a legacy server may have no more connections for this principal.
   */
  leaseFor(client: Client): Lease | undefined {
    const plan = connectionPlan(client, this.known);
    if (plan === undefined) return undefined;
    try {
      return this.leases.acquire(plan.lease.listScope.key, plan.lease);
    } catch (error) {
      const isFull = error instanceof GatewayError && error.code === "overloaded";
      if (plan.isOptional && isFull) return undefined;
      throw error;
    }
  }

  /** A connection of `client` that finds out the era, and ends soon. @throws GatewayError as `leaseFor`. */
  probingLease(client: Client): Lease {
    const lease = probingPlan(client, this.known);
    return this.leases.acquire(lease.listScope.key, lease);
  }

  /** The state of the shared connection; where principals have their own, one of these makes the server ready. */
  get state(): UpstreamState {
    const { state } = this.shared;
    const mayBeServed =
      state === "needs_sign_in" || (state === "backoff" && this.known.credentials.carryHeaders);
    return mayBeServed && this.servesClients ? "ready" : state;
  }

  /** Whether a connection of single clients is open. */
  get servesClients(): boolean {
    return this.leases.all().some(isOpen);
  }

  /** The subscriptions of the connection that `client` uses, once it is open or has failed to open. */
  async #openSubscriptionsOf(client: Client): Promise<ConnectionSubscriptions> {
    const lease = this.leaseFor(client);
    await lease?.supervisor.connection().catch(() => {});
    // The server may have refused to open a session just now.
    const isStillLeased = lease !== undefined && this.leaseFor(client) === lease;
    return isStillLeased ? lease.subscriptions : this.#sharedSubscriptions;
  }

  /** Whether a call is running or parked on one of them. */
  get hasOpenCalls(): boolean {
    return this.open.some(({ connection }) => connection.idleSince === undefined);
  }

  /** Opens the shared connection again; those of single clients when they are needed, which for subscriptions is at once. */
  async restart(): Promise<void> {
    await this.leases.endAll();
    this.resources.resubscribeAll();
    await this.shared.restart();
  }

  /** Ends all connections; resolves when they have ended. */
  async close(): Promise<void> {
    this.#sharedIdleTimer.stop();
    this.known.credentials.stop();
    await Promise.all([this.leases.close(), this.shared.close()]);
  }

  get #supervisors(): readonly Supervisor[] {
    return [this.shared, ...this.leases.all().map(({ supervisor }) => supervisor)];
  }

  /** Credentials of that id have come or gone: connections that lacked them are opened, others need a sign-in. */
  #onCredentials(id: string, isSignedIn: boolean): void {
    for (const supervisor of this.#supervisors) {
      if (supervisor.credentials !== id) continue;
      if (isSignedIn) supervisor.onSignedIn();
      else supervisor.onSignedOut();
    }
    this.#events.credentialsChanged(id);
  }

  /** The subscriptions of the connection that `client` uses; a lease is connected. */
  #subscriptionsOf(client: Client | undefined): ConnectionSubscriptions {
    const lease = client === undefined ? undefined : this.leaseFor(client);
    const { supervisor, use, subscriptions } = lease ?? {
      supervisor: this.shared,
      use: this.sharedUse,
      subscriptions: this.#sharedSubscriptions,
    };
    if (client === undefined) use.touch();
    else use.add(client);
    // An eager server is connected without it.
    if (lease === undefined && !this.startsOnDemand) return subscriptions;
    supervisor.connection().catch((error: unknown) => {
      const sentence = "not connected: the resource subscription is sent after the reconnect";
      this.#settings.log.debug({ server: this.#server.name, error }, sentence);
    });
    return subscriptions;
  }

  #restShared(): void {
    const why = this.sharedUse.wasUsed
      ? `nothing has used it for ${Math.round(this.#lifetime.idleTimeoutMs / 1_000)} s`
      : "it was only listed, and nothing uses it";
    if (!this.shared.rest(why)) {
      this.#sharedIdleTimer.start();
      return;
    }
    this.sharedUse.reset();
    this.#events.rested();
  }

  /** Ends the shared process where it was only listed over, as a host gets one of its own: one host needs one process. */
  #endUnusedProcess(): void {
    if (this.#server.transport.kind !== "stdio" || !this.startsOnDemand || this.sharedUse.wasUsed) return;
    const isHeld = this.#sharedSubscriptions.size > 0 || this.#settings.lifecycle.hasOpenTask(undefined);
    if (!isHeld && this.shared.rest("it was only listed, and a host gets a process of its own"))
      this.#events.rested();
  }

  /** On demand only until the server was met: without its lists nothing would ever use it. */
  #keepsSharedOpen(): boolean {
    return !this.startsOnDemand || this.known.facts === undefined;
  }

  #endLeases(): void {
    inBackground(this.leases.endAll(), this.#settings.log, "ending connections of single clients");
  }

  /** The supervisor of a lease's connection; of the shared one where there is no lease. */
  #supervise(leaseKey: LeaseKey | undefined, after: Promise<void>): Supervisor {
    const { log, lifecycle, observers } = this.#settings;
    const subscriptions = leaseKey?.subscriptions ?? this.#sharedSubscriptions;
    const supervisor: Supervisor = new Supervisor(
      {
        server: this.#server.name,
        credentials: leaseKey === undefined ? this.known.credentials.sharedId : leaseKey.credentials,
        isShared: leaseKey === undefined,
        log,
        random: lifecycle.random,
        mayGoWithoutSignIn: () => leaseKey === undefined && this.known.credentials.mayGoWithout,
        allowsEarlyRetry: this.#server.transport.kind !== "stdio",
        keepOpen: () =>
          (!isSpare(leaseKey) && subscriptions.size > 0) ||
          (leaseKey === undefined && this.#keepsSharedOpen()),
        open: (signal) => {
          this.#copies.started(supervisor);
          return openConnection(this.#opening, leaseKey, signal);
        },
        onOpen: (connected) => this.#opened(leaseKey, subscriptions, connected),
        onUnavailable: (cause) => {
          this.#copies.ended(supervisor);
          this.#events.unavailable(leaseKey, cause);
        },
        onRestart: observers.onRestart,
      },
      after,
    );
    return supervisor;
  }

  #opened(
    leaseKey: LeaseKey | undefined,
    subscriptions: ConnectionSubscriptions,
    connected: Connected,
  ): void {
    const { known } = this;
    const before = known.era;
    if (leaseKey === undefined) {
      // The modern server may have replaced a legacy one; whether it opens sessions is not known yet.
      if (known.learn(connected) && connected.era === "modern") this.#endLeases();
      this.#sharedIdleTimer.start();
    } else if (before === undefined) known.learnFromLease(connected);
    // The server was replaced while the shared connection was idle; that one decides how all are served.
    else if (before === "legacy" && connected.era === "modern") this.shared.start();
    const missed = subscriptions.moveTo(connected.connection, leaseKey?.remembered);
    this.#events.opened(leaseKey, connected, missed);
    if (before !== undefined && before !== known.era) this.resources.resubscribeAll();
  }
}

const isOpen = ({ supervisor }: Lease): boolean =>
  supervisor.current !== undefined && supervisor.state !== "needs_sign_in";
