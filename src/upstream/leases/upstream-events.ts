/** Which observers get the events of one server, and of which of its connections? */
import type { GatewayError } from "../../core/errors.js";
import type { ListKind } from "../../core/lists.js";
import { inBackground, type Logger } from "../../core/logger.js";
import { type ListScope, SHARED_SCOPE, type UpstreamObserver } from "../../core/upstream.js";
import type { ConnectionObserver } from "../connection.js";
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
