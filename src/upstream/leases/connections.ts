/** Which connections are there to one server, and which of them does a client use? */
import type { ServerConfig } from "../../config/config.js";
import type { Call } from "../../core/call.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { inBackground } from "../../core/logger.js";
import { principalKey } from "../../core/principal.js";
import { awaitWithin, type StopSignal, settle, unlessAborted } from "../../core/stop.js";
import { type ListScope, type ServerFacts, SHARED_SCOPE, type UpstreamState } from "../../core/upstream.js";
import type { RpcError } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import type { Connection } from "../connection.js";
import { advertisedToModern, relayable } from "../protocol/advertised-capabilities.js";
import { type Connected, connect } from "../supervision/connect.js";
import type { UpstreamSettings } from "../supervision/options.js";
import { SharedEra } from "../supervision/shared-era.js";
import { Supervisor } from "../supervision/supervisor.js";
import { writeMemory } from "../supervision/upstream-memory.js";
import { ConnectionUse } from "./connection-use.js";
import {
  EVICT_AFTER_MS,
  ExclusiveConnections,
  MAX_PER_PRINCIPAL,
  MAX_SESSIONS_PER_PRINCIPAL,
} from "./exclusive-connections.js";
import { IdleTimer } from "./idle-timer.js";
import {
  type Lease,
  type LeaseKey,
  Leases,
  listScopeFor,
  requestListScope,
  SESSION_LIST_SCOPE,
} from "./lease.js";
import { RivalCopies } from "./rival-copies.js";
import { RootsRequests } from "./roots-requests.js";
import { ServerCredentials, withHeaders } from "./server-credentials.js";
import { SessionChoice } from "./session-choice.js";
import {
  ClientSubscriptions,
  ConnectionSubscriptions,
  isSpare,
  type UpstreamEvents,
} from "./upstream-events.js";

/** When the connections of a server begin and end. */
export type ServerLifetime = Pick<ServerConfig, "start" | "idleTimeoutMs">;

/** An open connection and the supervisor that keeps it. */
export interface SupervisedConnection {
  readonly supervisor: Supervisor;
  readonly connected: Connected;
}

/** The connection that all clients share, and the leases: connections that are kept for single clients. */
export class Connections {
  readonly shared: Supervisor;
  readonly leases: Leases;
  readonly exclusive: ExclusiveConnections;
  /** The calls and subscriptions over the shared connection. */
  readonly sharedUse: ConnectionUse;
  readonly credentials: ServerCredentials;
  readonly rootsRequests = new RootsRequests();
  readonly #sharedIdleTimer: IdleTimer;
  #lifetime: ServerLifetime;
  readonly #server: ServerConfig;
  readonly #settings: UpstreamSettings;
  readonly #events: UpstreamEvents;
  readonly #sharedEra: SharedEra;
  readonly #sessions: SessionChoice;
  readonly #sharedSubscriptions = new ConnectionSubscriptions();
  readonly #clientSubscriptions = new ClientSubscriptions((client) => this.#subscriptionsOf(client));
  readonly #advertisedToModern: (client: Client) => JsonObject;
  #facts: ServerFacts | undefined;
  #era: Connected["era"] | undefined;
  #wasConnected = false;
  readonly #copies = new RivalCopies(() => this.#warnOfRivals());

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
    const { log, lifecycle, gateway, memory, questions, others } = settings;
    this.#sharedEra = new SharedEra(server, others, memory?.eraCache);
    this.#era = memory?.era;
    this.#facts = memory?.facts;
    this.#sessions = new SessionChoice({
      server,
      eraCache: this.#sharedEra.cache,
      log,
      facts: memory?.sessionFacts,
      onRefused: () => {
        // Leases that stay would be opened again.
        this.#endLeases();
        this.#resubscribeAll();
      },
    });
    this.credentials = new ServerCredentials(server, {
      store: settings.credentials,
      areNeeded: memory?.needsCredentials === true,
      onNeeded: () => {
        onSeparated();
        this.#resubscribeAll();
      },
      onChanged: (id, isSignedIn) => this.#onCredentials(id, isSignedIn),
    });
    this.#lifetime = server;
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
      perPrincipal: MAX_PER_PRINCIPAL[server.transport.kind],
      sessionsPerPrincipal: MAX_SESSIONS_PER_PRINCIPAL[server.transport.kind],
      evictAfterMs: EVICT_AFTER_MS[server.transport.kind],
      use,
      hasOpenTask,
      isTaken: (key) => this.exclusive.isTaken(key),
      onLeft: (subscriptions) => this.#clientSubscriptions.reopen(subscriptions, this.#onSubscriptionLost),
      supervise: (leaseKey, after) => {
        this.#endUnusedProcess();
        const { lastClosed } = this.shared;
        return this.#supervise(
          leaseKey,
          server.transport.kind === "stdio" ? after.then(() => lastClosed) : after,
        );
      },
    });
    this.exclusive = new ExclusiveConnections(this.leases, server.transport.kind);
    this.#advertisedToModern = advertisedToModern(gateway.isAggregated);
  }

  /** Whether the shared connection was open. */
  get wasConnected(): boolean {
    return this.#wasConnected;
  }

  /** What an upstream of a later process may begin with; undefined until the shared connection was open. */
  get memory(): JsonObject | undefined {
    const { facts = this.#facts } = this.shared.current?.connection ?? {};
    const { areNeeded } = this.credentials;
    return writeMemory(this.#era, facts, this.#sharedEra.cache.memory, this.#sessions.facts, areNeeded);
  }

  /** The era of the shared connection when it was last opened; undefined where it never was, in memory neither. */
  get era(): Connected["era"] | undefined {
    return this.#era;
  }

  /** Its facts at that time. */
  get facts(): ServerFacts | undefined {
    return this.#facts;
  }

  /** The facts of the last session that was opened, where `client` is served in one; undefined otherwise. */
  sessionFacts(client: Client): ServerFacts | undefined {
    return this.isInSession(client) ? this.#sessions.facts : undefined;
  }

  /** Whether the shared connection is opened by its first use, and ended when nothing uses it. */
  get startsOnDemand(): boolean {
    return this.#lifetime.start === "demand";
  }

  /** Opens the shared connection now; on demand only where the server or its lists are not known yet. */
  start(listsAreKnown: boolean): void {
    if (this.startsOnDemand && this.#facts !== undefined && listsAreKnown) this.shared.startIdle();
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
    const { key } = this.listScope(client);
    const lease = this.leases.get(key)?.supervisor;
    if (this.credentials.separates(client)) return lease;
    return lease ?? (key === SHARED_SCOPE.key || this.#era === "modern" ? this.shared : undefined);
  }

  /** The session of that affinity has ended. */
  release(affinity: string): void {
    this.leases.release(affinity);
    this.sharedUse.release(affinity);
    this.#sharedIdleTimer.check();
  }

  /** All open connections. */
  get open(): readonly Connected[] {
    const supervisors = [this.shared, ...this.leases.all().map(({ supervisor }) => supervisor)];
    return supervisors.flatMap(({ current }) => current ?? []);
  }

  /** Whether `client` is served in a session although the shared connection keeps none. */
  isInSession(client: Client): boolean {
    return this.#era === "modern" && this.#sessions.usesSession(client);
  }

  /** Whose lists and connection `client` gets. */
  listScope(client: Client): ListScope {
    const listScope = this.#listScopeOfCapabilities(client);
    return this.credentials.separates(client) ? this.credentials.scopeOf(client, listScope) : listScope;
  }

  #listScopeOfCapabilities(client: Client): ListScope {
    if (this.#era !== "modern") return listScopeFor(this.#server.lease, client, this.#advertisedFor(client));
    if (this.#sessions.usesSession(client))
      return this.#sessions.listScope(client, this.#advertisedFor(client));
    // One connection serves all clients, and each request carries what is advertised for its client.
    const advertised = this.#advertisedToModern(client);
    return Object.keys(advertised).length === 0 ? SHARED_SCOPE : requestListScope(advertised);
  }

  /**
   * The lease of `client`, made when there is none; undefined when it uses the shared connection.
   *
   * @throws GatewayError `overloaded` when a legacy server may have no more connections for this principal.
   */
  leaseFor(client: Client): Lease | undefined {
    const isSeparate = this.credentials.separates(client);
    const isRequestBased = this.#era === "modern" && !this.isInSession(client);
    if (isRequestBased && !isSeparate) return undefined;
    const listScope = this.listScope(client);
    if (listScope === SHARED_SCOPE) return undefined;
    // A connection of all clients of some kind carries no principal's credentials.
    const isOfOne = isSeparate || listScope.key !== listScope.capabilityClass;
    const session = client.session && listScope.key === client.affinity ? client : undefined;
    const leaseKey = {
      listScope,
      // A connection that serves clients of all principals counts for none of them.
      principal: listScope.key === SESSION_LIST_SCOPE.key ? "" : principalKey(client.principal),
      credentials: isOfOne ? this.credentials.idOf(client) : this.credentials.sharedId,
      headers: this.credentials.headersOf(client)?.headers,
      opensSession: !isRequestBased,
      // Each request carries them.
      advertised: isRequestBased ? {} : this.#advertisedFor(client),
      session,
      spare: false,
    };
    try {
      return this.leases.acquire(listScope.key, leaseKey);
    } catch (error) {
      // A modern server can serve the client over the shared connection too.
      const isFull = error instanceof GatewayError && error.code === "overloaded";
      if (this.#era === "modern" && isFull && !isSeparate) return undefined;
      throw error;
    }
  }

  /** Whether `call` over `lease` needs the roots of its host: it is kept for several, and the server asks for roots in such calls. */
  separatesRoots(
    { session, opensSession, advertised }: Lease,
    call: Pick<Call, "method" | "params">,
  ): boolean {
    const mayBeAsked = session === undefined && opensSession && Object.hasOwn(advertised, "roots");
    return mayBeAsked && this.rootsRequests.areNeededIn(call);
  }

  /**
   * Before the first call over a pipe: whether the server asks for roots as soon as the handshake is over. It has asked before
   * it answers a ping; over HTTP there is no order.
   */
  async #afterRequestsOfStart(connection: Connection, signal: StopSignal): Promise<void> {
    const isUsed =
      connection.lastCallEndedAt !== Number.NEGATIVE_INFINITY || connection.idleSince === undefined;
    if (isUsed || this.#server.transport.kind !== "stdio") return;
    await awaitWithin(PING_MS, connection.checkHealth(signal), signal);
  }

  /**
   * Resolves when a server that asks for roots after the handshake has done so: it knows those that the connection of `lease`
   * is kept for, or has got a refusal. What it asks from then on belongs to a call.
   */
  async whenStarted({ advertised }: Lease, connection: Connection, signal: StopSignal): Promise<void> {
    if (!Object.hasOwn(advertised, "roots")) return;
    await this.#afterRequestsOfStart(connection, signal);
    const { possibleStartMs } = this.rootsRequests;
    if (possibleStartMs === undefined) return;
    const isTold = await connection.whenRootsTold?.(possibleStartMs, signal);
    if (isTold === false && !signal.aborted) this.rootsRequests.missedStart();
  }

  /** The same over the connection of one session, whose host the server asks by itself. */
  async whenSessionKnowsRoots(lease: Lease, signal: StopSignal): Promise<void> {
    const connection = await this.openedConnection(lease.supervisor, signal);
    if (connection === undefined) return;
    await this.#afterRequestsOfStart(connection, signal);
    const { startMs } = this.rootsRequests;
    // A host that does not answer says nothing of the server.
    if (startMs !== undefined) await connection.whenRootsTold?.(startMs, signal);
  }

  /**
   * Resolves when the server's era is known, which decides about the connection of `client`.
   *
   * @throws GatewayError as `waitFor`.
   */
  async whenEraIsKnown(client: Client | undefined, signal: StopSignal): Promise<void> {
    if (this.#era !== undefined) return;
    await this.waitForShared(client, signal);
    if (this.#era !== undefined || client === undefined) return;
    await this.waitFor(this.#probingLease(client).supervisor, signal);
  }

  /**
   * Resolves when the shared connection is open, or lacks only the credentials that `client` has on one of its own.
   *
   * @throws GatewayError as `waitFor`.
   */
  async waitForShared(client: Client | undefined, signal: StopSignal): Promise<void> {
    try {
      await this.waitFor(this.shared, signal);
    } catch (error) {
      if (client === undefined || !this.credentials.mayReplaceShared(client, error)) throw error;
    }
  }

  /** A connection with the credentials of `client` that finds out the era, and ends soon. */
  #probingLease(client: Client): Lease {
    const listScope = this.credentials.scopeOf(client, PROBING_SCOPE);
    return this.leases.acquire(listScope.key, {
      listScope,
      principal: principalKey(client.principal),
      credentials: this.credentials.idOf(client),
      headers: this.credentials.headersOf(client)?.headers,
      opensSession: false,
      advertised: {},
      session: undefined,
      spare: true,
    });
  }

  /** The state of the shared connection; where principals have their own, one of these makes the server ready. */
  get state(): UpstreamState {
    const { state } = this.shared;
    const mayBeServed = state === "needs_sign_in" || (state === "backoff" && this.credentials.carryHeaders);
    return mayBeServed && this.servesClients ? "ready" : state;
  }

  /** Whether a connection of single clients is open. */
  get servesClients(): boolean {
    return this.leases.all().some(isOpen);
  }

  /**
   * The open connection of `client`; the shared one where there is no client, or the server turns out to open no
   * sessions.
   *
   * @throws GatewayError as `waitFor`.
   */
  async connectionFor(client: Client | undefined, signal: StopSignal): Promise<SupervisedConnection> {
    const lease = client && this.leaseFor(client);
    // A remote session costs little, and brings the client the server's list changes. A process costs more.
    if (client !== undefined && this.#server.transport.kind !== "stdio") lease?.use.add(client);
    const supervisor = lease?.supervisor ?? this.shared;
    try {
      return { supervisor, connected: supervisor.current ?? (await this.waitFor(supervisor, signal)) };
    } catch (error) {
      if (supervisor === this.shared || client === undefined || signal.aborted) throw error;
      const now = this.leaseFor(client);
      // The server opens no sessions, and the principal needs a connection of its own anyway.
      if (now !== undefined && lease?.opensSession === true && !now.opensSession)
        return this.connectionFor(client, signal);
      if (now !== undefined) throw error;
      return { supervisor: this.shared, connected: await this.waitFor(this.shared, signal) };
    }
  }

  /**
   * The connection of `supervisor`, once it is open.
   *
   * @throws GatewayError `cancelled` when `signal` aborts first, `upstream_unavailable` when it cannot be opened.
   */
  waitFor(supervisor: Supervisor, signal: StopSignal): Promise<Connected> {
    const { name: server } = this.#server;
    return unlessAborted(supervisor.connection(), signal, () => {
      const sentence = `the call was cancelled while the gateway was connecting to ${server}`;
      return new GatewayError("cancelled", "downstream", sentence, { server, cause: signal.reason });
    });
  }

  /** The open connection of `supervisor`; undefined where there is none: the call over it fails with the reason. */
  async openedConnection(supervisor: Supervisor, signal: StopSignal): Promise<Connection | undefined> {
    if (supervisor.current === undefined) await settle(this.waitFor(supervisor, signal));
    return supervisor.current?.connection;
  }

  /** Follows a resource over the connection of `client`, until the returned function is called. */
  subscribe(uri: string, client: Client | undefined): () => void {
    return this.#clientSubscriptions.subscribe(uri, client);
  }

  /** See `Upstream.subscriptionError`. */
  async subscriptionError(uri: string, client: Client): Promise<RpcError | undefined> {
    const lease = this.leaseFor(client);
    await lease?.supervisor.connection().catch(() => {});
    // The server may have refused to open a session just now.
    const isStillLeased = lease !== undefined && this.leaseFor(client) === lease;
    return (isStillLeased ? lease.subscriptions : this.#sharedSubscriptions).subscriptionError(uri);
  }

  /** Whether a call is running or parked on one of them. */
  get hasOpenCalls(): boolean {
    const supervisors = [this.shared, ...this.leases.all().map(({ supervisor }) => supervisor)];
    return supervisors.some(
      ({ current }) => current !== undefined && current.connection.idleSince === undefined,
    );
  }

  /** Opens the shared connection again; those of single clients when they are needed, which for subscriptions is at once. */
  async restart(): Promise<void> {
    await this.leases.endAll();
    this.#resubscribeAll();
    await this.shared.restart();
  }

  /** Ends all connections; resolves when they have ended. */
  async close(): Promise<void> {
    this.#sharedIdleTimer.stop();
    this.credentials.stop();
    await Promise.all([this.leases.close(), this.shared.close()]);
  }

  /** Credentials of that id have come or gone: connections that lacked them are opened, others need a sign-in. */
  #onCredentials(id: string, isSignedIn: boolean): void {
    const supervisors = [this.shared, ...this.leases.all().map(({ supervisor }) => supervisor)];
    for (const supervisor of supervisors) {
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
      this.#settings.log.debug(
        { server: this.#server.name, error },
        "not connected: the resource subscription is sent after the reconnect",
      );
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

  #resubscribeAll(): void {
    this.#clientSubscriptions.resubscribeAll(this.#onSubscriptionLost);
  }

  readonly #onSubscriptionLost = (error: unknown): void =>
    this.#settings.log.warn({ server: this.#server.name, error }, "a resource subscription was lost");

  #advertisedFor(client: Client): JsonObject {
    return relayable(client, this.#settings.gateway.isAggregated());
  }

  /** On demand only until the server was met: without its lists nothing would ever use it. */
  #keepsSharedOpen(): boolean {
    return !this.startsOnDemand || this.#facts === undefined;
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
        credentials: leaseKey === undefined ? this.credentials.sharedId : leaseKey.credentials,
        isShared: leaseKey === undefined,
        log,
        random: lifecycle.random,
        allowsEarlyRetry: this.#server.transport.kind !== "stdio",
        keepOpen: () =>
          (!isSpare(leaseKey) && subscriptions.size > 0) ||
          (leaseKey === undefined && this.#keepsSharedOpen()),
        open: (signal) => {
          this.#copies.started(supervisor);
          return this.#connect(leaseKey, signal);
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

  #warnOfRivals(): void {
    const { name: server, transport, lease } = this.#server;
    if (transport.kind !== "stdio" || lease === "shared") return;
    const sentence = `only one process of ${server} can run: each new one ends another, or ends itself; set mcpServers.${server}.lease to "shared", so that all hosts use one`;
    this.#settings.log.warn({ server }, sentence);
  }

  #opened(
    leaseKey: LeaseKey | undefined,
    subscriptions: ConnectionSubscriptions,
    connected: Connected,
  ): void {
    const before = this.#era;
    if (leaseKey === undefined) {
      this.#wasConnected = true;
      this.#era = connected.era;
      this.#facts = connected.connection.facts;
      this.#sharedEra.cache.reconnected();
      // The modern server may have replaced a legacy one; whether it opens sessions is not known yet.
      if (connected.era === "modern" && before !== "modern") this.#endLeases();
      this.#sharedIdleTimer.start();
    } else if (this.#era === undefined) {
      // The shared connection has no credentials. What the server says to one principal is not for others.
      const { capabilities, serverInfo, instance } = connected.connection.facts;
      this.#era = connected.era;
      this.#facts = { capabilities, serverInfo, ...(instance !== undefined && { instance }) };
    } else if (this.#era === "legacy" && connected.era === "modern") {
      // The server was replaced while the shared connection was idle; that one decides how all are served.
      this.shared.start();
    }
    const missed = subscriptions.moveTo(connected.connection, leaseKey?.remembered);
    this.#events.opened(leaseKey, connected, missed);
    if (before !== undefined && before !== this.#era) this.#resubscribeAll();
  }

  #connect(leaseKey: LeaseKey | undefined, signal: StopSignal): Promise<Connected> {
    const connectNow = (): Promise<Connected> => {
      const isSession = leaseKey?.opensSession === true && this.#era === "modern";
      const open = (): Promise<Connected> => this.#open(leaseKey, isSession, signal);
      return isSession ? this.#sessions.open(open, signal) : open();
    };
    const connect = (): Promise<Connected> =>
      this.#server.transport.kind === "stdio"
        ? this.#settings.lifecycle.spawnLimiter.run(connectNow, signal)
        : connectNow();
    return this.#sharedEra.adopted()?.then(connect) ?? connect();
  }

  #open(leaseKey: LeaseKey | undefined, session: boolean, signal: StopSignal): Promise<Connected> {
    const { gateway, log, questions, lifecycle, observers, openChannel } = this.#settings;
    return connect(
      {
        server: withHeaders(this.#server, leaseKey?.headers),
        session,
        credentials: this.credentials.ofChannel(
          leaseKey === undefined ? this.credentials.sharedId : leaseKey.credentials,
        ),
        openChannel,
        eraCache: this.#sharedEra.cache,
        protocol: {
          server: this.#server.name,
          gateway: gateway.info,
          isAggregated: gateway.isAggregated,
          observer: this.#events.observerFor(leaseKey, () => this.#era),
          log,
          ids: lifecycle.requestIds,
        },
        legacy: {
          questions,
          owner: leaseKey?.session,
          onRootsAsked: (request) => this.rootsRequests.asked(request),
          remembered: leaseKey?.session === undefined ? leaseKey?.remembered : undefined,
          onTaskStatus: observers.onTaskStatus,
          random: lifecycle.random,
        },
        advertised: leaseKey?.advertised ?? {},
        advertisedFor: this.#advertisedToModern,
      },
      signal,
    );
  }
}

/** How long (ms) a server is waited for that does not answer a ping. */
const PING_MS = 5_000;

/** The scope of a connection that nothing is listed over. */
const PROBING_SCOPE: ListScope = { key: "probing", capabilityClass: "probing" };

const isOpen = ({ supervisor }: Lease): boolean =>
  supervisor.current !== undefined && supervisor.state !== "needs_sign_in";
