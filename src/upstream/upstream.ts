/** One server behind the gateway as the rest of the program sees it: its calls, lists, news and state. */
import type { ServerConfig } from "../config/config.js";
import type { Call, Notice, Reply } from "../core/call.js";
import type { Client } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import type { ListKind } from "../core/lists.js";
import { inBackground } from "../core/logger.js";
import type { StopSignal } from "../core/stop.js";
import { TASK_METHODS, type TaskListener, type TaskSubscription } from "../core/tasks.js";
import { unlessAborted } from "../core/timeouts.js";
import {
  type ListScope,
  type ServerFacts,
  type ServerList,
  SHARED_SCOPE,
  type Upstream,
  type UpstreamObserver,
  type UpstreamState,
} from "../core/upstream.js";
import type { RpcError } from "../wire/envelope.js";
import { type JsonObject, objectAt } from "../wire/json.js";
import { addOwnHop, filterLoopedItems } from "./hops.js";
import { EVICT_AFTER_MS, ExclusiveConnections, MAX_PER_PRINCIPAL } from "./leases/exclusive-connections.js";
import {
  type Lease,
  type LeaseKey,
  Leases,
  listScopeFor,
  requestListScope,
  SESSION_LIST_SCOPE,
} from "./leases/lease.js";
import { ClientSubscriptions, ConnectionSubscriptions } from "./leases/resource-subscriptions.js";
import { SessionChoice } from "./leases/session-choice.js";
import { callIdentity } from "./legacy/parked-calls.js";
import { visitedLinkIds } from "./legacy/url-elicitation.js";
import { type UpstreamOptions, type UpstreamSettings, withDefaults } from "./options.js";
import { advertisedToModern, includesClientFeatures, relayable } from "./protocol/advertised-capabilities.js";
import { INTERACTIVE_METHODS } from "./protocol/questions.js";
import { type Connected, connect } from "./supervision/connect.js";
import { EraCache } from "./supervision/era-cache.js";
import { Supervisor, type SupervisorSettings } from "./supervision/supervisor.js";
import { HttpStatusError } from "./transport/channel.js";
import { UpstreamEvents } from "./upstream-events.js";

export interface StartableUpstream extends Upstream {
  /** Begins to meet the server, and does not wait for it. */
  start(): void;
  /** Passes on what a client tells outside its calls; only a session's own connection gets it. */
  forwardNotification(client: Client, notice: Notice): void;
}

/** A server that is met when `start` is called, and kept from then on. */
export function createUpstream(server: ServerConfig, options: UpstreamOptions): StartableUpstream {
  return new SupervisedUpstream(server, withDefaults(server, options));
}

class SupervisedUpstream implements StartableUpstream {
  readonly name: string;
  readonly #server: ServerConfig;
  readonly #settings: UpstreamSettings;
  readonly #eraCache = new EraCache();
  readonly #events: UpstreamEvents;
  readonly #sharedSubscriptions = new ConnectionSubscriptions();
  readonly #clientSubscriptions = new ClientSubscriptions((client) => this.#subscriptionsOf(client));
  readonly #shared: Supervisor;
  readonly #leases: Leases;
  readonly #exclusive: ExclusiveConnections;
  readonly #advertisedToModern: (client: Client) => JsonObject;
  readonly #sessions: SessionChoice;
  /** The lease of a client whose calls need no connection to themselves; `call` takes it without a new lookup. */
  readonly #plainLeases = new WeakMap<Client, Lease>();
  #facts: ServerFacts | undefined;
  /** Of the shared connection. */
  #era: Connected["era"] | undefined;

  constructor(server: ServerConfig, settings: UpstreamSettings) {
    this.name = server.name;
    this.#server = server;
    this.#settings = settings;
    this.#sessions = new SessionChoice({
      server,
      eraCache: this.#eraCache,
      log: settings.log,
      onRefused: () => {
        // To end them now keeps them from being opened again.
        this.#endLeases();
        this.#resubscribeAll();
      },
    });
    this.#events = new UpstreamEvents(settings.log);
    this.#shared = this.#supervise(undefined, settings.after);
    this.#leases = new Leases({
      server,
      log: settings.log,
      max: settings.maxLeases,
      perPrincipal: MAX_PER_PRINCIPAL[server.transport.kind],
      evictAfterMs: EVICT_AFTER_MS[server.transport.kind],
      idleMs: settings.leaseIdleMs,
      supervise: (leaseKey, after) => this.#supervise(leaseKey, after),
    });
    this.#exclusive = new ExclusiveConnections(this.#leases, server.transport.kind);
    this.#advertisedToModern = advertisedToModern(() => settings.aggregated());
  }

  get state(): UpstreamState {
    return this.#shared.state;
  }

  get lastError(): string | undefined {
    return this.#shared.lastError;
  }

  get facts(): ServerFacts | undefined {
    // A server that has forgotten its session says anew what it is, on the same connection.
    return this.#shared.current?.connection.facts ?? this.#facts;
  }

  factsFor(client: Client): ServerFacts | undefined {
    return (this.#isInSession(client) ? this.#sessions.facts : undefined) ?? this.facts;
  }

  get revisions(): readonly string[] {
    const open = [this.#shared, ...this.#leases.all().map(({ supervisor }) => supervisor)];
    return [...new Set(open.flatMap(({ current: connected }) => connected?.connection.revision ?? []))];
  }

  start(): void {
    this.#shared.start();
  }

  readonly call = (incoming: Call): Promise<Reply> => {
    // Nearly always there is nothing to wait for, and nothing to choose.
    const { current: connected } = this.#shared;
    if (connected?.era !== "modern" || this.#facts?.instance !== undefined)
      return this.#callSlowPath(incoming);
    if (!this.#isInSession(incoming.client)) return this.#callConnected(this.#shared, connected, incoming);
    const lease = incoming.inputResponses === undefined ? this.#plainLeases.get(incoming.client) : undefined;
    const own = lease?.supervisor.current;
    return lease !== undefined && own !== undefined && this.#leases.renew(lease)
      ? this.#callConnected(lease.supervisor, own, incoming)
      : this.#callSlowPath(incoming);
  };

  async #callSlowPath(incoming: Call): Promise<Reply> {
    // One that is not there, or was never met, may be of the other era when it comes.
    if (this.#era !== "legacy" && this.#shared.current === undefined && !this.#isInSession(incoming.client))
      await this.#waitForConnection(this.#shared, incoming.signal);
    const call =
      this.#facts?.instance === undefined ? incoming : addOwnHop(incoming, this.#settings.instance);
    const lease = this.#leaseFor(call.client);
    if (lease === undefined && this.#era === "modern") return await this.#callOver(this.#shared, call);
    if (call.inputResponses?.state !== undefined && visitedLinkIds(call.inputResponses) === undefined) {
      return this.#resume(call, call.inputResponses.state);
    }
    if (lease === undefined) return await this.#callOver(this.#shared, call);
    if (this.#era === "modern" && lease.supervisor.current === undefined) {
      const { supervisor } = await this.#connectionFor(call.client, call.signal);
      if (supervisor === this.#shared) return await this.#callOver(supervisor, call);
    }
    const together =
      lease.session !== undefined ||
      !includesClientFeatures(lease.advertised) ||
      !INTERACTIVE_METHODS.has(call.method);
    if (lease.session !== undefined || !includesClientFeatures(lease.advertised))
      this.#plainLeases.set(call.client, lease);
    if (together || isOfTask(call)) return this.#callOver(lease.supervisor, call);
    return this.#exclusive.run(lease, call.signal, ({ supervisor }) => this.#callOver(supervisor, call));
  }

  listScope(client: Client): ListScope {
    if (this.#era !== "modern") return listScopeFor(this.#server.lease, client, this.#advertisedFor(client));
    if (this.#sessions.usesSession(client))
      return this.#sessions.listScope(client, this.#advertisedFor(client));
    // One connection serves all, and what is promised goes with each request.
    const advertised = this.#advertisedToModern(client);
    return Object.keys(advertised).length === 0 ? SHARED_SCOPE : requestListScope(advertised);
  }

  async list(kind: ListKind, client: Client | undefined, signal: StopSignal): Promise<ServerList> {
    if (this.#era === undefined) await this.#waitForConnection(this.#shared, signal);
    const { supervisor, connected } = await this.#connectionFor(client, signal);
    if (client !== undefined && connected.era === "modern") this.#events.addListScope(this.listScope(client));
    try {
      const list = await connected.connection.list(kind, signal, client);
      const { instance } = connected.connection.facts;
      if (instance === undefined) return list;
      return { ...list, items: filterLoopedItems(instance, this.#settings.instance, list.items) };
    } catch (error) {
      throw checkedAfterFailure(error, supervisor, connected);
    }
  }

  subscribe(uri: string, client: Client | undefined): () => void {
    return this.#clientSubscriptions.subscribe(uri, client);
  }

  async followTasks(
    ids: readonly string[],
    client: Client,
    listener: TaskListener<string>,
  ): Promise<TaskSubscription> {
    // Who is not there has agreed to tell of nothing; its client goes on asking.
    const connected = this.#shared.current;
    return connected?.connection.followTasks?.(ids, client, listener) ?? { ids: [], stop: () => {} };
  }

  async subscriptionError(uri: string, client: Client): Promise<RpcError | undefined> {
    const lease = this.#leaseFor(client);
    await lease?.supervisor.connection().catch(() => {});
    // One that opens no sessions was found out just now.
    const isStillLeased = lease !== undefined && this.#leaseFor(client) === lease;
    return (isStillLeased ? lease.subscriptions : this.#sharedSubscriptions).subscriptionError(uri);
  }

  connectNow(): Promise<void> {
    return this.#shared.connection().then(
      () => {},
      // Why it failed is told by its state and by the log.
      () => {},
    );
  }

  watch(observer: UpstreamObserver): () => void {
    return this.#events.watch(observer);
  }

  forwardNotification(client: Client, notice: Notice): void {
    const lease = this.#leases.get(this.listScope(client).key);
    if (notice.method !== "notifications/roots/list_changed" || lease === undefined) return;
    if (objectAt(lease.advertised, "roots")?.listChanged !== true) return;
    lease.supervisor.current?.connection.notify?.(notice);
  }

  releaseClient(affinity: string): void {
    this.#leases.release(affinity);
  }

  async close(): Promise<void> {
    await Promise.all([this.#leases.close(), this.#shared.close()]);
    await this.#settings.closeChannels();
  }

  /** Of the connection that `client` uses; one that is kept for few clients is opened. */
  #subscriptionsOf(client: Client | undefined): ConnectionSubscriptions {
    const lease = client === undefined ? undefined : this.#leaseFor(client);
    if (lease === undefined) return this.#sharedSubscriptions;
    lease.supervisor.connection().catch((error: unknown) => {
      this.#settings.log.debug(
        { server: this.name, error },
        "not connected: the resource subscription is sent after the reconnect",
      );
    });
    return lease.subscriptions;
  }

  #resubscribeAll(): void {
    this.#clientSubscriptions.resubscribeAll((error) =>
      this.#settings.log.warn({ server: this.name, error }, "a resource subscription was lost"),
    );
  }

  /** Whether `client` is served in a session although the shared connection keeps none. */
  #isInSession(client: Client): boolean {
    return this.#era === "modern" && this.#sessions.usesSession(client);
  }

  /** The connection of `client`, opened; the shared one where the server turns out to open no sessions. */
  async #connectionFor(
    client: Client | undefined,
    signal: StopSignal,
  ): Promise<{ readonly supervisor: Supervisor; readonly connected: Connected }> {
    const supervisor = (client && this.#leaseFor(client)?.supervisor) ?? this.#shared;
    try {
      return {
        supervisor,
        connected: supervisor.current ?? (await this.#waitForConnection(supervisor, signal)),
      };
    } catch (error) {
      const isOver =
        supervisor === this.#shared || client === undefined || this.#leaseFor(client) !== undefined;
      if (isOver || signal.aborted) throw error;
      return { supervisor: this.#shared, connected: await this.#waitForConnection(this.#shared, signal) };
    }
  }

  /** Goes on with a call that waits here, on the connection on which it waits. */
  async #resume(call: Call, state: string): Promise<Reply> {
    const owner = await callIdentity(call, this.name);
    const parked = this.#settings.parked.take(state, owner, this.name);
    try {
      return await parked.resume(call, call.inputResponses ?? { responses: {} });
    } finally {
      this.#exclusive.wake();
    }
  }

  async #callOver(supervisor: Supervisor, call: Call): Promise<Reply> {
    return this.#callConnected(
      supervisor,
      supervisor.current ?? (await this.#waitForConnection(supervisor, call.signal)),
      call,
    );
  }

  #callConnected(supervisor: Supervisor, connected: Connected, call: Call): Promise<Reply> {
    return connected.connection.call(call).catch((error: unknown) => {
      throw checkedAfterFailure(error, supervisor, connected);
    });
  }

  #waitForConnection(supervisor: Supervisor, signal: StopSignal): Promise<Connected> {
    return unlessAborted(supervisor.connection(), signal, () => {
      const sentence = `the call was given up while ${this.name} was being connected`;
      return new GatewayError("cancelled", "downstream", sentence, {
        server: this.name,
        cause: signal.reason,
      });
    });
  }

  /** The connection that is kept for `client` alone, or for few like it; undefined when it uses the shared one. */
  #leaseFor(client: Client): Lease | undefined {
    if (this.#era === "modern" && !this.#isInSession(client)) return undefined;
    const listScope = this.listScope(client);
    if (listScope === SHARED_SCOPE) return undefined;
    const session = client.session && listScope.key === client.affinity ? client : undefined;
    const leaseKey = {
      listScope,
      // What serves clients of all principals is in nobody's share.
      principal: listScope.key === SESSION_LIST_SCOPE.key ? "" : client.principal.id,
      advertised: this.#advertisedFor(client),
      session,
      spare: false,
    };
    try {
      return this.#leases.acquire(listScope.key, leaseKey);
    } catch (error) {
      // Where there is another way, a client for whom there is no room goes that.
      const isFull = error instanceof GatewayError && error.code === "overloaded";
      if (this.#era === "modern" && isFull) return undefined;
      throw error;
    }
  }

  #advertisedFor(client: Client): JsonObject {
    return relayable(client, this.#settings.aggregated());
  }

  /** The supervisor of a lease's connection, or of the shared one. */
  #supervise(leaseKey: LeaseKey | undefined, after?: Promise<void>): Supervisor {
    const { log, random, onRestart } = this.#settings;
    const subscriptions = leaseKey?.subscriptions ?? this.#sharedSubscriptions;
    const settings: SupervisorSettings = {
      server: this.name,
      log,
      random,
      allowsEarlyRetry: this.#server.transport.kind === "http",
      keepOpen: () => leaseKey === undefined || subscriptions.size > 0,
      open: (signal) => this.#connect(leaseKey, signal),
      onOpen: (connected) => {
        const before = this.#era;
        if (leaseKey === undefined) {
          this.#era = connected.era;
          this.#facts = connected.connection.facts;
          this.#eraCache.reconnected();
          // A server may be replaced by a modern one; whether that opens sessions has yet to be seen.
          if (connected.era === "modern" && before !== "modern") this.#endLeases();
        }
        this.#events.opened(leaseKey, connected, subscriptions.moveTo(connected.connection));
        if (before !== undefined && before !== this.#era) this.#resubscribeAll();
      },
      onUnavailable: (cause) => this.#events.unavailable(leaseKey, cause),
      onRestart: onRestart,
    };
    return new Supervisor(settings, after);
  }

  #connect(leaseKey: LeaseKey | undefined, signal: StopSignal): Promise<Connected> {
    const connectNow = (): Promise<Connected> => this.#connectFor(leaseKey, signal);
    return this.#server.transport.kind === "stdio"
      ? this.#settings.spawnLimiter.run(connectNow, signal)
      : connectNow();
  }

  #connectFor(leaseKey: LeaseKey | undefined, signal: StopSignal): Promise<Connected> {
    const isSession = leaseKey !== undefined && this.#era === "modern";
    const connectNow = (): Promise<Connected> => this.#connectAs(leaseKey, isSession, signal);
    return isSession ? this.#sessions.open(connectNow, signal) : connectNow();
  }

  #endLeases(): void {
    inBackground(this.#leases.endAll(), this.#settings.log, "ending connections of single clients");
  }

  #connectAs(leaseKey: LeaseKey | undefined, session: boolean, signal: StopSignal): Promise<Connected> {
    const { roots, onRefusedQuestion, ...settings } = this.#settings;
    return connect(
      {
        session,
        ...settings,
        server: this.#server,
        eraCache: this.#eraCache,
        observer: this.#events.observerFor(leaseKey, () => this.#era),
        advertised: leaseKey?.advertised ?? {},
        advertisedFor: this.#advertisedToModern,
        owner: leaseKey?.session,
        roots,
        onRefusedQuestion: onRefusedQuestion,
      },
      signal,
    );
  }
}

/** `error` itself, after the server was asked for a sign of life if the error is that there was none. */
function checkedAfterFailure(error: unknown, supervisor: Supervisor, connected: Connected): unknown {
  if (isUnreachable(error)) supervisor.checkNow(connected);
  return error;
}

/** A task may be known on the connection only on which it was begun; what it asks says by itself whose it is. */
const isOfTask = ({ method, params }: Call): boolean =>
  TASK_METHODS.has(method) || Object.hasOwn(params, "task");

/** Nothing came back at all, so the connection itself may be gone. An HTTP status did come back. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof GatewayError &&
  error.code === "upstream_unavailable" &&
  !(error.cause instanceof HttpStatusError);
