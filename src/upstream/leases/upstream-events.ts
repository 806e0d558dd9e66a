/** What a server's connections have to say, told to those who watch, and for whose lists it counts. */
import type { GatewayError } from "../../core/errors.js";
import type { ListKind } from "../../core/lists.js";
import { inBackground, type Logger } from "../../core/logger.js";
import { type ListScope, SHARED_SCOPE, type UpstreamObserver } from "../../core/upstream.js";
import type { ConnectionObserver } from "../connection.js";
import type { Connected } from "../supervision/connect.js";
import type { LeaseKey } from "./lease.js";

/** Capabilities come in few combinations; a host that makes up ever new ones is not remembered for ever. */
const MAX_CLASSES = 100;

export class UpstreamEvents {
  readonly #log: Logger;
  readonly #observers = new Set<UpstreamObserver>();
  /** The classes of clients that have listed over the connection that all share; each may see other lists. */
  readonly #listScopes = new Map<string, ListScope>([[SHARED_SCOPE.key, SHARED_SCOPE]]);

  constructor(log: Logger) {
    this.#log = log;
  }

  watch(observer: UpstreamObserver): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /** `listScope` lists over the shared connection. */
  addListScope(listScope: ListScope): void {
    this.#listScopes.delete(listScope.key);
    this.#listScopes.set(listScope.key, listScope);
    if (this.#listScopes.size <= MAX_CLASSES) return;
    const oldest = [...this.#listScopes.keys()].find((key) => key !== SHARED_SCOPE.key);
    if (oldest !== undefined) this.#listScopes.delete(oldest);
  }

  /** A connection of `leaseKey` (undefined: the shared one) is open, and `missed` may have changed unheard. */
  opened(leaseKey: LeaseKey | undefined, { era, connection }: Connected, missed: readonly string[]): void {
    if (leaseKey?.spare !== true) {
      for (const listScope of this.#listScopesOf(leaseKey))
        this.#notify((observer) => observer.ready(listScope));
    }
    // Told once the server listens again: what happens after the client has looked would otherwise be missed too.
    for (const uri of missed) {
      const notified = connection
        .subscriptionError(uri)
        .then(() => this.#updated(uri, listScopeOf(leaseKey, era)));
      inBackground(notified, this.#log, "telling what may have been missed");
    }
  }

  unavailable(leaseKey: LeaseKey | undefined, cause: GatewayError): void {
    if (leaseKey === undefined) this.#notify((observer) => observer.unavailable(cause));
  }

  /** Hears what a connection of `leaseKey` says. A spare one says of lists only what the first says as well. */
  observerFor(leaseKey: LeaseKey | undefined, era: () => Connected["era"] | undefined): ConnectionObserver {
    return {
      listChanged: (kind) => {
        if (leaseKey?.spare !== true) this.#listChanged(kind, leaseKey);
      },
      resourceUpdated: (uri) => this.#updated(uri, listScopeOf(leaseKey, era())),
    };
  }

  #listChanged(kind: ListKind, leaseKey: LeaseKey | undefined): void {
    for (const listScope of this.#listScopesOf(leaseKey)) {
      this.#notify((observer) => observer.listChanged(kind, listScope));
    }
  }

  #listScopesOf(leaseKey: LeaseKey | undefined): readonly ListScope[] {
    return leaseKey === undefined ? [...this.#listScopes.values()] : [leaseKey.listScope];
  }

  #updated(uri: string, listScope: ListScope | undefined): void {
    this.#notify((observer) => observer.resourceUpdated(uri, listScope));
  }

  #notify(notify: (observer: UpstreamObserver) => void): void {
    for (const observer of [...this.#observers]) notify(observer);
  }
}

/** Whose connection it is; undefined where one serves clients of every kind. */
function listScopeOf(
  leaseKey: LeaseKey | undefined,
  era: Connected["era"] | undefined,
): ListScope | undefined {
  if (leaseKey !== undefined) return leaseKey.listScope;
  return era === "modern" ? undefined : SHARED_SCOPE;
}
