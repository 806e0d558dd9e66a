/** The resources that somebody follows over one connection, kept while the connection comes and goes. */
import type { RpcError } from "../../wire/envelope.js";
import type { Connection } from "../connection.js";

interface Subscription {
  count: number;
  stop: (() => void) | undefined;
}

export class PersistentSubscriptions {
  readonly #subscriptions = new Map<string, Subscription>();
  #connection: Connection | undefined;

  get size(): number {
    return this.#subscriptions.size;
  }

  /** Counts one more follower of `uri`; call the returned function to stop. */
  subscribe(uri: string): () => void {
    const subscription = this.#subscriptions.get(uri) ?? { count: 0, stop: this.#connection?.subscribe(uri) };
    subscription.count += 1;
    this.#subscriptions.set(uri, subscription);
    let stopped = false;
    return () => {
      if (stopped) return;
      stopped = true;
      subscription.count -= 1;
      if (subscription.count > 0) return;
      this.#subscriptions.delete(uri);
      subscription.stop?.();
    };
  }

  /** The error with which the server refused to tell of `uri`; undefined while there is no connection to ask over. */
  async subscriptionError(uri: string): Promise<RpcError | undefined> {
    return this.#subscriptions.has(uri) ? this.#connection?.subscriptionError(uri) : undefined;
  }

  /**
   * From now on over `connection`. Returns what may have changed unheard while there was none; nothing when it
   * is the first connection.
   */
  moveTo(connection: Connection): readonly string[] {
    const again = this.#connection !== undefined;
    this.#connection = connection;
    for (const [uri, subscription] of this.#subscriptions) subscription.stop = connection.subscribe(uri);
    return again ? [...this.#subscriptions.keys()] : [];
  }
}
