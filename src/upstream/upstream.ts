/**
 * What can the rest of the program do with one server? Send calls, list, follow changes, and see its state.
 */

import type { ServerConfig } from "../config/config.js";
import type { Handler, Notice } from "../core/call.js";
import type { Client } from "../core/client.js";
import type { ListKind } from "../core/lists.js";
import type { StopSignal } from "../core/stop.js";
import type { TaskListener, TaskSubscription } from "../core/tasks.js";
import type {
  ListScope,
  ResourceSubscriptions,
  ServerFacts,
  ServerList,
  Upstream,
  UpstreamObserver,
  UpstreamState,
} from "../core/upstream.js";
import { type JsonObject, objectAt } from "../wire/json.js";
import { filterLoopedItems } from "./hops.js";
import { listScopeOf } from "./leases/connection-plan.js";
import { Connections, type ServerLifetime } from "./leases/connections.js";
import { ReadyConnections } from "./leases/ready-connections.js";
import { UpstreamEvents } from "./leases/upstream-events.js";
import { type UpstreamOptions, type UpstreamSettings, withDefaults } from "./supervision/options.js";
import type { Supervisor } from "./supervision/supervisor.js";
import { checkedAfterFailure, UpstreamCalls } from "./upstream-calls.js";

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
  readonly #ready: ReadyConnections;
  readonly #shared: Supervisor;
  readonly call: Handler;
  readonly resources: ResourceSubscriptions;

  constructor(server: ServerConfig, settings: UpstreamSettings) {
    this.name = server.name;
    this.#settings = settings;
    this.#events = new UpstreamEvents(settings.log);
    const connections = new Connections(server, settings, this.#events, () => calls.forgetLeases());
    this.#connections = connections;
    this.#shared = connections.shared;
    this.resources = connections.resources;
    this.#ready = new ReadyConnections(server.name, server.transport.kind === "stdio", connections);
    const calls = new UpstreamCalls(server.name, settings, connections, this.#ready);
    this.call = calls.call;
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

  get nextTryAt(): number | undefined {
    return this.#shared.nextTryAt;
  }

  headersOf(client: Client): string | undefined {
    return this.#connections.known.credentials.headersOf(client)?.digest;
  }

  get separatesPrincipals(): boolean {
    return this.#connections.known.credentials.areOfPrincipals;
  }

  get facts(): ServerFacts | undefined {
    // A server that opens a new session on the same connection may have other facts.
    return this.#shared.current?.connection.facts ?? this.#connections.known.facts;
  }

  factsFor(client: Client): ServerFacts | undefined {
    const { known } = this.#connections;
    if (known.credentials.separates(client))
      return this.#connections.supervisorOf(client)?.current?.connection.facts ?? known.facts;
    return known.sessionFacts(client) ?? this.facts;
  }

  get revisions(): readonly string[] {
    return [...new Set(this.#connections.open.map(({ connection }) => connection.revision))];
  }

  get wasConnected(): boolean {
    return this.#connections.known.wasConnected;
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

  listScope(client: Client): ListScope {
    return listScopeOf(client, this.#connections.known);
  }

  async list(
    kind: ListKind,
    client: Client | undefined,
    signal: StopSignal,
    before?: readonly JsonObject[],
  ): Promise<ServerList> {
    const { known } = this.#connections;
    if (known.era === undefined) await this.#ready.whenEraIsKnown(client, signal);
    const { supervisor, connected } = await this.#ready.connectionFor(client, signal);
    if (client !== undefined && connected.era === "modern" && !known.credentials.separates(client))
      this.#events.addListScope(this.listScope(client));
    try {
      const list = await supervisor.duringList(() => connected.connection.list(kind, signal, client, before));
      const { instance } = connected.connection.facts;
      if (instance === undefined) return list;
      return { ...list, items: filterLoopedItems(instance, this.#settings.gateway.instance, list.items) };
    } catch (error) {
      throw checkedAfterFailure(error, supervisor, connected);
    }
  }

  async followTasks(
    ids: readonly string[],
    client: Client,
    listener: TaskListener<string>,
  ): Promise<TaskSubscription> {
    // While the server is away it acknowledges no task; the client continues polling.
    const connections = this.#connections;
    const isSeparate = connections.known.credentials.separates(client);
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
}
