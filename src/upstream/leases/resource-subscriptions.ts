/** Which resources do clients follow at one server, and over which of its connections? */
import type { Client } from "../../core/client.js";
import type { RpcError } from "../../wire/envelope.js";
import type { Connection } from "../connection.js";

/** The resources followed over one supervised connection: one reference count per URI, kept across reconnects. */
export class ConnectionSubscriptions {
  readonly #counts = new Map<string, number>();
  #connection: Connection | undefined;

  /** The number of resources that are followed. */
  get size(): number {
    return this.#counts.size;
  }

  /** Counts one more subscription to `uri`; the first one subscribes at the server. */
  add(uri: string): void {
    const count = this.#counts.get(uri) ?? 0;
    this.#counts.set(uri, count + 1);
    if (count === 0) this.#connection?.subscribe(uri);
  }

  /** Counts one subscription to `uri` less; the last one unsubscribes at the server. */
  remove(uri: string): void {
    const count = this.#counts.get(uri) ?? 0;
    if (count > 1) this.#counts.set(uri, count - 1);
    else if (this.#counts.delete(uri)) this.#connection?.unsubscribe(uri);
  }

  /** The error with which the server refused `uri`; undefined while no connection was ever open. Waits for the answer. */
  async subscriptionError(uri: string): Promise<RpcError | undefined> {
    return this.#counts.has(uri) ? this.#connection?.subscriptionError(uri) : undefined;
  }

  /**
   * Subscribes to all resources over a new connection. Returns the URIs whose updates may have been missed
   * meanwhile: all of them, but none for the first connection.
   */
  moveTo(connection: Connection): readonly string[] {
    const isReconnect = this.#connection !== undefined;
    this.#connection = connection;
    for (const uri of this.#counts.keys()) connection.subscribe(uri);
    return isReconnect ? [...this.#counts.keys()] : [];
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

  /** Chooses the connections anew, after clients came to share them in another way; errors go to `onError`. */
  resubscribeAll(onError: (error: unknown) => void): void {
    for (const subscription of [...this.#all]) {
      subscription.on?.remove(subscription.uri);
      subscription.on = undefined;
      try {
        subscription.on = this.#choose(subscription.client);
        subscription.on.add(subscription.uri);
      } catch (error) {
        onError(error);
      }
    }
  }
}
