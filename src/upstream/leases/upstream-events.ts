/** Which resources do clients follow at one server, over which of its connections, and which observers get its events? */

import type { Client } from "../../core/client.js";
import type { GatewayError } from "../../core/errors.js";
import type { ListKind } from "../../core/lists.js";
import { inBackground, type Logger } from "../../core/logger.js";
import { type ListScope, SHARED_SCOPE, type UpstreamObserver } from "../../core/upstream.js";
import type { RpcError } from "../../wire/envelope.js";
import type { Connection, ConnectionObserver } from "../connection.js";
import type { Connected } from "../supervision/connect.js";
import type { LeaseKey } from "./lease.js";

/** The maximum number of list scopes; the least recently used one is forgotten. */
const MAX_CLASSES = 100;

/** The observers of one server. */
export class UpstreamEvents {
  readonly #log: Logger;
  readonly #observers = new Set<UpstreamObserver>();
  /** The list scopes, by key, of clients that have listed over the shared connection. */
  readonly #listScopes = new Map<string, ListScope>([[SHARED_SCOPE.key, SHARED_SCOPE]]);

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Notifies `observer` until the returned function is called. */
  watch(observer: UpstreamObserver): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /** Records that clients of `listScope` list over the shared connection. */
  addListScope(listScope: ListScope): void {
    this.#listScopes.delete(listScope.key);
    this.#listScopes.set(listScope.key, listScope);
    if (this.#listScopes.size <= MAX_CLASSES) return;
    const oldest = [...this.#listScopes.keys()].find((key) => key !== SHARED_SCOPE.key);
    if (oldest !== undefined) this.#listScopes.delete(oldest);
  }

  /** A connection of `leaseKey` (undefined: the shared one) is open; updates of `missed` URIs may have been lost. */
  opened(leaseKey: LeaseKey | undefined, { era, connection }: Connected, missed: readonly string[]): void {
    if (!isSpare(leaseKey)) {
      for (const listScope of this.#listScopesOf(leaseKey))
        this.#notify((observer) => observer.ready?.(listScope));
    }
    // After the server has accepted the subscription: an update after the client has read would be lost otherwise.
    for (const uri of missed) {
      const notified = connection
        .subscriptionError(uri)
        .then(() => this.#updated(uri, listScopeOf(leaseKey, era)));
      inBackground(notified, this.#log, "notifying missed resource updates");
    }
  }

  /** A connection of `leaseKey` is lost or could not be opened; only the shared one counts. */
  unavailable(leaseKey: LeaseKey | undefined, cause: GatewayError): void {
    if (leaseKey === undefined) this.#notify((observer) => observer.unavailable?.(cause));
  }

  /** The shared connection was ended because nothing uses it. */
  rested(): void {
    this.#notify((observer) => observer.rested?.());
  }

  /** The credentials of a principal have come or gone. */
  credentialsChanged(principal: string): void {
    this.#notify((observer) => observer.credentialsChanged?.(principal));
  }

  /** The observer of a connection of `leaseKey`. List changes of a spare one are dropped: the first reports them too. */
  observerFor(leaseKey: LeaseKey | undefined, era: () => Connected["era"] | undefined): ConnectionObserver {
    return {
      listChanged: (kind) => {
        if (!isSpare(leaseKey)) this.#listChanged(kind, leaseKey);
      },
      resourceUpdated: (uri) => this.#updated(uri, listScopeOf(leaseKey, era())),
    };
  }

  #listChanged(kind: ListKind, leaseKey: LeaseKey | undefined): void {
    for (const listScope of this.#listScopesOf(leaseKey)) {
      this.#notify((observer) => observer.listChanged?.(kind, listScope));
    }
  }

  #listScopesOf(leaseKey: LeaseKey | undefined): readonly ListScope[] {
    return leaseKey === undefined ? [...this.#listScopes.values()] : [leaseKey.listScope];
  }

  #updated(uri: string, listScope: ListScope | undefined): void {
    this.#notify((observer) => observer.resourceUpdated?.(uri, listScope));
  }

  #notify(notify: (observer: UpstreamObserver) => void): void {
    for (const observer of [...this.#observers]) notify(observer);
  }
}

/**
 * Whether a lease only separates calls, or hosts by their roots: lists, and changes of them, come over the first lease of the
 * same clients, whose server knows no roots.
 */
export const isSpare = (leaseKey: LeaseKey | undefined): boolean =>
  leaseKey !== undefined && (leaseKey.spare || leaseKey.remembered.roots !== undefined);

/** The list scope of a connection; undefined where it serves clients of all scopes. */
function listScopeOf(
  leaseKey: LeaseKey | undefined,
  era: Connected["era"] | undefined,
): ListScope | undefined {
  if (leaseKey !== undefined) return leaseKey.listScope;
  return era === "modern" ? undefined : SHARED_SCOPE;
}

/** Which of the connections it is; the same one after a reconnect. */
export type ConnectionOwner = LeaseKey["remembered"] | undefined;

/**
 * The resources followed by the clients of one list scope: one reference count per URI, kept across reconnects. Each of their
 * connections subscribes to all of them: a call on any of them may change what its server notifies of.
 */
export class ConnectionSubscriptions {
  readonly #counts = new Map<string, number>();
  /** Resources that were followed over another connection, until one of these is open. */
  readonly #moved = new Set<string>();
  /** In the order in which they were first opened. */
  readonly #connections = new Map<ConnectionOwner, Connection>();

  /** The number of resources that are followed. */
  get size(): number {
    return this.#counts.size;
  }

  /**
   * Counts one more subscription to `uri`; the first one subscribes at the server. `isMoved`: it was followed over another
   * connection before.
   */
  add(uri: string, isMoved = false): void {
    if (isMoved && this.#connections.size === 0) this.#moved.add(uri);
    const count = this.#counts.get(uri) ?? 0;
    this.#counts.set(uri, count + 1);
    if (count > 0) return;
    for (const connection of this.#connections.values()) connection.subscribe(uri);
  }

  /** Counts one subscription to `uri` less; the last one unsubscribes at the server. */
  remove(uri: string): void {
    const count = this.#counts.get(uri) ?? 0;
    if (count > 1) this.#counts.set(uri, count - 1);
    else if (this.#counts.delete(uri)) {
      this.#moved.delete(uri);
      for (const connection of this.#connections.values()) connection.unsubscribe(uri);
    }
  }

  /** The error with which the server refused `uri`; undefined while no connection was ever open. Waits for the answer. */
  async subscriptionError(uri: string): Promise<RpcError | undefined> {
    const [first] = this.#connections.values();
    return this.#counts.has(uri) ? first?.subscriptionError(uri) : undefined;
  }

  /**
   * Subscribes to all resources over a new connection of `owner`. Returns the URIs whose updates may have been missed
   * meanwhile: all of them after a reconnect; otherwise only those that were followed over another one.
   */
  moveTo(connection: Connection, owner: ConnectionOwner): readonly string[] {
    const uris = [...this.#counts.keys()];
    const missed = this.#connections.has(owner) ? uris : uris.filter((uri) => this.#moved.has(uri));
    this.#connections.set(owner, connection);
    this.#moved.clear();
    for (const uri of uris) connection.subscribe(uri);
    return missed;
  }

  /** There will be no more connection of `owner`. */
  ended(owner: ConnectionOwner): void {
    this.#connections.delete(owner);
  }
}

interface ClientSubscription {
  readonly uri: string;
  readonly client: Client | undefined;
  /** Undefined when no connection could be chosen for the client. */
  on: ConnectionSubscriptions | undefined;
}

/** The subscriptions of all clients of one server, each on the connection that its client uses at the moment. */
export class ClientSubscriptions {
  readonly #choose: (client: Client | undefined) => ConnectionSubscriptions;
  readonly #all = new Set<ClientSubscription>();

  /** `choose` returns the subscriptions of the connection that a client uses; it may throw. */
  constructor(choose: (client: Client | undefined) => ConnectionSubscriptions) {
    this.#choose = choose;
  }

  /** Follows `uri` until the returned function is called. @throws what `choose` throws. */
  subscribe(uri: string, client: Client | undefined): () => void {
    const on = this.#choose(client);
    on.add(uri);
    const subscription: ClientSubscription = { uri, client, on };
    this.#all.add(subscription);
    return () => {
      if (this.#all.delete(subscription)) subscription.on?.remove(uri);
    };
  }

  /** The connection that was kept for `on` is kept for other calls now: another one is opened; errors go to `onError`. */
  reopen(on: ConnectionSubscriptions, onError: (error: unknown) => void): void {
    const subscription = [...this.#all].find((one) => one.on === on);
    try {
      if (subscription !== undefined) this.#choose(subscription.client);
    } catch (error) {
      onError(error);
    }
  }

  /** Chooses the connections again, after clients came to share them in another way; errors go to `onError`. */
  resubscribeAll(onError: (error: unknown) => void): void {
    for (const subscription of [...this.#all]) {
      subscription.on?.remove(subscription.uri);
      subscription.on = undefined;
      try {
        subscription.on = this.#choose(subscription.client);
        subscription.on.add(subscription.uri, true);
      } catch (error) {
        onError(error);
      }
    }
  }
}
