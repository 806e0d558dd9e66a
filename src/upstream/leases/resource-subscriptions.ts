/** Which resources do clients follow at one server, and over which of its connections? */
import type { Client } from "../../core/client.js";
import type { ResourceSubscriptions } from "../../core/upstream.js";
import type { RpcError } from "../../wire/envelope.js";
import type { Connection } from "../connection.js";
import type { LeaseKey } from "./lease.js";

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

/** Which connection a client uses. */
interface ConnectionChoice {
  /** Its subscriptions; it is connected. May throw. */
  choose(client: Client | undefined): ConnectionSubscriptions;
  /** Its subscriptions, once it is open or has failed to open. */
  whenOpen(client: Client): Promise<ConnectionSubscriptions>;
  /** A subscription was lost. */
  onLost(error: unknown): void;
}

/** The subscriptions of all clients of one server, each on the connection that its client uses at the moment. */
export class ClientSubscriptions implements ResourceSubscriptions {
  readonly #choice: ConnectionChoice;
  readonly #all = new Set<ClientSubscription>();

  constructor(choice: ConnectionChoice) {
    this.#choice = choice;
  }

  /** Follows `uri` until the returned function is called. @throws what `choose` throws. */
  subscribe(uri: string, client: Client | undefined): () => void {
    const on = this.#choice.choose(client);
    on.add(uri);
    const subscription: ClientSubscription = { uri, client, on };
    this.#all.add(subscription);
    return () => {
      if (this.#all.delete(subscription)) subscription.on?.remove(uri);
    };
  }

  async subscriptionError(uri: string, client: Client): Promise<RpcError | undefined> {
    return (await this.#choice.whenOpen(client)).subscriptionError(uri);
  }

  /** The connection that was kept for `on` is kept for other calls now: another one is opened. */
  reopen(on: ConnectionSubscriptions): void {
    const subscription = [...this.#all].find((one) => one.on === on);
    try {
      if (subscription !== undefined) this.#choice.choose(subscription.client);
    } catch (error) {
      this.#choice.onLost(error);
    }
  }

  /** Chooses the connections again, after clients came to share them in another way. */
  resubscribeAll(): void {
    for (const subscription of [...this.#all]) {
      subscription.on?.remove(subscription.uri);
      subscription.on = undefined;
      try {
        subscription.on = this.#choice.choose(subscription.client);
        subscription.on.add(subscription.uri, true);
      } catch (error) {
        this.#choice.onLost(error);
      }
    }
  }
}
