/**
 * What can the rest of the program do with one server? Send calls, list, follow changes, and see its state.
 */

import type { ServerConfig } from "../config/config.js";
import type { Call, Notice, Reply, RootsAnswer } from "../core/call.js";
import type { Client } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import type { ListKind } from "../core/lists.js";
import { INTERACTIVE_METHODS, TASK_METHODS } from "../core/methods.js";
import type { StopSignal } from "../core/stop.js";
import type { TaskListener, TaskSubscription } from "../core/tasks.js";
import type {
  ListScope,
  ServerFacts,
  ServerList,
  Upstream,
  UpstreamObserver,
  UpstreamState,
} from "../core/upstream.js";
import type { RpcError } from "../wire/envelope.js";
import { type JsonObject, objectAt } from "../wire/json.js";
import { addOwnHop, filterLoopedItems } from "./hops.js";
import { Connections, type ServerLifetime } from "./leases/connections.js";
import { askForRoots, readRoots, withRoots } from "./leases/host-roots.js";
import type { Lease } from "./leases/lease.js";
import { needsSignIn } from "./leases/server-credentials.js";
import { UpstreamEvents } from "./leases/upstream-events.js";
import { parkedIdentity } from "./legacy/parked-calls.js";
import { includesClientFeatures } from "./protocol/advertised-capabilities.js";
import type { Connected } from "./supervision/connect.js";
import { type UpstreamOptions, type UpstreamSettings, withDefaults } from "./supervision/options.js";
import type { Supervisor } from "./supervision/supervisor.js";
import { HttpStatusError } from "./transport/channel.js";

/** An upstream that opens no connection before `start`. */
export interface StartableUpstream extends Upstream {
  /**
   * Begins to connect, and returns at once. On demand a server that `memory` knows stays idle until its first use, unless
   * `listsAreKnown` is false. Default: true.
   */
  start(listsAreKnown?: boolean): void;
  /** Takes over when connections begin and end, of a new config. */
  setLifetime(lifetime: ServerLifetime): void;
  /** Forwards what a client sends outside its calls, over the connection that is kept for its session. */
  forwardNotification(client: Client, notice: Notice): void;
  /**
   * What is known of the server for an upstream of a later process (`UpstreamOptions.memory`): with it, `facts`,
   * `factsFor` and `listScope` answer before the first connection as they do now. Undefined until one was open.
   */
  memory(): JsonObject | undefined;
  /** Whether the server wants credentials of each principal, so that nothing of one may reach another. */
  readonly separatesPrincipals: boolean;
  /** Whether a call is open at the server, one that waits for a person included. */
  readonly hasOpenCalls: boolean;
  /** Whether the shared connection was open since `start`; `facts` may be those of an earlier process. */
  readonly wasConnected: boolean;
}

/** The upstream of `server`, which is kept connected from `start` to `close`. */
export function createUpstream(server: ServerConfig, options: UpstreamOptions): StartableUpstream {
  return new SupervisedUpstream(server, withDefaults(server, options));
}

class SupervisedUpstream implements StartableUpstream {
  readonly name: string;
  readonly #settings: UpstreamSettings;
  readonly #events: UpstreamEvents;
  readonly #connections: Connections;
  readonly #shared: Supervisor;
  /** The lease of a client whose calls need no exclusive connection; `call` uses it without a lookup. */
  #plainLeases = new WeakMap<Client, Lease>();

  constructor(server: ServerConfig, settings: UpstreamSettings) {
    this.name = server.name;
    this.#settings = settings;
    this.#events = new UpstreamEvents(settings.log);
    this.#connections = new Connections(server, settings, this.#events, () => {
      this.#plainLeases = new WeakMap();
    });
    this.#shared = this.#connections.shared;
  }

  get state(): UpstreamState {
    return this.#connections.state;
  }

  get servesClients(): boolean {
    return this.#connections.servesClients;
  }

  get lastError(): string | undefined {
    return this.state === "ready" ? undefined : this.#shared.lastError;
  }

  headersOf(client: Client): string | undefined {
    return this.#connections.credentials.headersOf(client)?.digest;
  }

  get separatesPrincipals(): boolean {
    return this.#connections.credentials.areOfPrincipals;
  }

  get facts(): ServerFacts | undefined {
    // A server that opens a new session on the same connection may have other facts.
    return this.#shared.current?.connection.facts ?? this.#connections.facts;
  }

  factsFor(client: Client): ServerFacts | undefined {
    const connections = this.#connections;
    if (connections.credentials.separates(client))
      return connections.supervisorOf(client)?.current?.connection.facts ?? connections.facts;
    return connections.sessionFacts(client) ?? this.facts;
  }

  get revisions(): readonly string[] {
    return [...new Set(this.#connections.open.map(({ connection }) => connection.revision))];
  }

  get wasConnected(): boolean {
    return this.#connections.wasConnected;
  }

  memory(): JsonObject | undefined {
    return this.#connections.memory;
  }

  get startsOnDemand(): boolean {
    return this.#connections.startsOnDemand;
  }

  isOpenFor(client: Client | undefined): boolean {
    return this.#connections.supervisorOf(client)?.current !== undefined;
  }

  start(listsAreKnown = true): void {
    this.#connections.start(listsAreKnown);
  }

  setLifetime(lifetime: ServerLifetime): void {
    this.#connections.setLifetime(lifetime);
  }

  readonly call = (incoming: Call): Promise<Reply> => {
    // The fast path: the connection is open, and there is no other to choose.
    const connections = this.#connections;
    const { current: connected } = this.#shared;
    const state = incoming.inputResponses?.state;
    const isOwnRound = state !== undefined && (state.parked !== undefined || state.roots !== undefined);
    if (connected?.era !== "modern" || connections.facts?.instance !== undefined || isOwnRound)
      return this.#callSlowPath(incoming);
    const isSeparate = connections.credentials.separates(incoming.client);
    if (!isSeparate && !connections.isInSession(incoming.client)) {
      connections.sharedUse.add(incoming.client);
      return this.#callConnected(this.#shared, connected, incoming);
    }
    const lease = incoming.inputResponses === undefined ? this.#plainLeases.get(incoming.client) : undefined;
    const own = lease?.supervisor.current;
    return lease !== undefined && own !== undefined && connections.leases.renew(lease, incoming.client)
      ? this.#callConnected(lease.supervisor, own, incoming)
      : this.#callSlowPath(incoming);
  };

  async #callSlowPath(incoming: Call): Promise<Reply> {
    const connections = this.#connections;
    // A server that is away, or was never connected, may come back in the other era.
    if (connections.credentials.separates(incoming.client) || connections.era === undefined)
      await connections.whenEraIsKnown(incoming.client, incoming.signal);
    else if (
      connections.era !== "legacy" &&
      this.#shared.current === undefined &&
      !connections.isInSession(incoming.client)
    )
      await connections.waitForShared(incoming.client, incoming.signal);
    const isGateway = connections.facts?.instance !== undefined;
    const told = incoming.inputResponses?.state?.roots === undefined ? undefined : readRoots(incoming);
    const own = told?.call ?? incoming;
    const call = isGateway ? addOwnHop(own, this.#settings.gateway.instance) : own;
    const lease = connections.leaseFor(call.client);
    const needsRoots = lease !== undefined && connections.separatesRoots(lease, call);
    // The call comes on another connection, by the roots of its host.
    if (!needsRoots) (lease?.use ?? connections.sharedUse).add(call.client);
    const state = call.inputResponses?.state;
    if (state?.parked !== undefined) return this.#resume(call, state.parked);
    if (lease === undefined && connections.era === "modern") return await this.#callOver(this.#shared, call);
    if (state?.server !== undefined) return await this.#continue(call);
    if (lease === undefined) return await this.#callOver(this.#shared, call);
    if (connections.era === "modern" && lease.supervisor.current === undefined) {
      const { supervisor } = await connections.connectionFor(call.client, call.signal);
      if (supervisor === this.#shared) connections.sharedUse.add(call.client);
      if (supervisor !== lease.supervisor) return await this.#callOver(supervisor, call);
    }
    const isPlain =
      lease.session !== undefined || !lease.opensSession || !includesClientFeatures(lease.advertised);
    if (isPlain) this.#plainLeases.set(call.client, lease);
    if (isPlain && lease.opensSession && Object.hasOwn(lease.advertised, "roots"))
      await connections.whenSessionKnowsRoots(lease, call.signal);
    if (isPlain || !INTERACTIVE_METHODS.has(call.method) || isOfTask(call))
      return this.#callOver(lease.supervisor, call);
    return this.#callExclusively(lease, call, told?.roots);
  }

  /**
   * Runs a call in which its host may be asked. A server that asks for roots may keep them, so a call in which it does so goes
   * to a connection that is kept for hosts with the same roots, and the host is asked for them first.
   */
  async #callExclusively(lease: Lease, call: Call, told: RootsAnswer | undefined): Promise<Reply> {
    const connections = this.#connections;
    const { client, signal } = call;
    const { links } = call.inputResponses?.state ?? {};
    const needsRoots = (): boolean => links === undefined && connections.separatesRoots(lease, call);
    // Roots that the server does not ask for are no reason for a connection of their own.
    const roots = links !== undefined || needsRoots() ? told : undefined;
    const isAskedFirst = (): boolean => roots === undefined && needsRoots();
    if (isAskedFirst()) return askForRoots();
    let isAsked = false;
    const reply = await connections.exclusive.run(lease, { client, signal, roots }, async (own) => {
      const connection = await connections.openedConnection(own.supervisor, signal);
      if (connection === undefined) return this.#callOver(own.supervisor, call);
      await connections.whenStarted(own, connection, signal);
      if (!isAskedFirst()) return this.#callOver(own.supervisor, call);
      // No call comes on it any longer.
      if (connections.rootsRequests.isSetUpWithRoots) own.use.reset();
      isAsked = true;
      return askForRoots();
    });
    if (isAsked && told !== undefined) return this.#callExclusively(lease, call, told);
    return roots === undefined ? reply : withRoots(reply, roots);
  }

  listScope(client: Client): ListScope {
    return this.#connections.listScope(client);
  }

  async list(kind: ListKind, client: Client | undefined, signal: StopSignal): Promise<ServerList> {
    const connections = this.#connections;
    if (connections.era === undefined) await connections.whenEraIsKnown(client, signal);
    const { supervisor, connected } = await connections.connectionFor(client, signal);
    if (client !== undefined && connected.era === "modern" && !connections.credentials.separates(client))
      this.#events.addListScope(this.listScope(client));
    try {
      const list = await supervisor.duringList(() => connected.connection.list(kind, signal, client));
      const { instance } = connected.connection.facts;
      if (instance === undefined) return list;
      return { ...list, items: filterLoopedItems(instance, this.#settings.gateway.instance, list.items) };
    } catch (error) {
      throw checkedAfterFailure(error, supervisor, connected);
    }
  }

  subscribe(uri: string, client: Client | undefined): () => void {
    return this.#connections.subscribe(uri, client);
  }

  subscriptionError(uri: string, client: Client): Promise<RpcError | undefined> {
    return this.#connections.subscriptionError(uri, client);
  }

  async followTasks(
    ids: readonly string[],
    client: Client,
    listener: TaskListener<string>,
  ): Promise<TaskSubscription> {
    // While the server is away it acknowledges no task; the client continues polling.
    const connections = this.#connections;
    const isSeparate = connections.credentials.separates(client);
    const { current: connected } = (isSeparate ? connections.supervisorOf(client) : this.#shared) ?? {};
    return connected?.connection.followTasks?.(ids, client, listener) ?? { ids: [], stop: () => {} };
  }

  get hasOpenCalls(): boolean {
    return this.#connections.hasOpenCalls;
  }

  async restart(): Promise<void> {
    await this.#connections.restart();
  }

  connectNow(): Promise<void> {
    return this.#shared.connection().then(
      () => {},
      // `lastError` and the log have the reason.
      () => {},
    );
  }

  watch(observer: UpstreamObserver): () => void {
    return this.#events.watch(observer);
  }

  forwardNotification(client: Client, notice: Notice): void {
    const lease = this.#connections.leases.get(this.listScope(client).key);
    if (notice.method !== "notifications/roots/list_changed" || lease === undefined) return;
    if (objectAt(lease.advertised, "roots")?.listChanged !== true) return;
    lease.supervisor.current?.connection.notify?.(notice);
  }

  releaseClient(affinity: string): void {
    this.#connections.release(affinity);
  }

  async close(): Promise<void> {
    await this.#connections.close();
    await this.#settings.closeChannels();
  }

  /** Continues a call for which a modern server gave a state. That is part of the request, and valid on any connection. */
  async #continue(call: Call): Promise<Reply> {
    const connections = this.#connections;
    if (connections.era === "modern" && !connections.credentials.separates(call.client))
      return this.#callOver(this.#shared, call);
    const { supervisor, connected } = await connections.connectionFor(call.client, call.signal);
    // A legacy server has no such states: it has replaced the other one, and the call is not made a second time.
    return connected.era === "modern" ? this.#callOver(supervisor, call) : this.#resume(call, "");
  }

  /** Continues a parked call, on the connection on which it waits. */
  async #resume(call: Call, token: string): Promise<Reply> {
    const owner = await parkedIdentity(call, this.name);
    const parked = this.#settings.questions.parked.take(token, owner, this.name);
    try {
      return await parked.resume(call, call.inputResponses ?? { responses: {} });
    } finally {
      this.#connections.exclusive.wake();
    }
  }

  async #callOver(supervisor: Supervisor, call: Call): Promise<Reply> {
    let connected: Connected;
    try {
      connected = supervisor.current ?? (await this.#connections.waitFor(supervisor, call.signal));
    } catch (error) {
      if (needsSignIn(error) && this.#hasOtherCredentials(supervisor, call.client))
        return this.#callSlowPath(call);
      throw error;
    }
    return this.#callConnected(supervisor, connected, call);
  }

  #callConnected(supervisor: Supervisor, connected: Connected, call: Call): Promise<Reply> {
    return connected.connection.call(call).catch((error: unknown) => {
      if (needsSignIn(error) && this.#hasOtherCredentials(supervisor, call.client))
        return this.#callSlowPath(call);
      throw checkedAfterFailure(error, supervisor, connected);
    });
  }

  /** The server has just asked for credentials on a connection of several principals: it has not run the call. */
  #hasOtherCredentials(supervisor: Supervisor, client: Client): boolean {
    const { credentials } = this.#connections;
    return credentials.separates(client) && supervisor.credentials !== credentials.idOf(client);
  }
}

/** Returns `error`; where the server could not be reached, a health check begins. */
function checkedAfterFailure(error: unknown, supervisor: Supervisor, connected: Connected): unknown {
  if (isUnreachable(error)) supervisor.checkNow(connected);
  return error;
}

/** A server may know a task only on the connection that created it; its questions name their task. */
const isOfTask = ({ method, params }: Call): boolean =>
  TASK_METHODS.has(method) || Object.hasOwn(params, "task");

/** There was no response, so the connection may be lost. An HTTP status is a response. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof GatewayError &&
  error.code === "upstream_unavailable" &&
  !(error.cause instanceof HttpStatusError);
