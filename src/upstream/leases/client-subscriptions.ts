/** The resources that clients follow at one server, each over the connection that is its client's at the moment. */
import type { Client } from "../../core/client.js";
import type { Logger } from "../../core/logger.js";

interface ClientSubscription {
  readonly uri: string;
  readonly client: Client | undefined;
  stop: () => void;
}

interface ClientSubscriptionsSettings {
  readonly server: string;
  readonly log: Logger;
  /** Follows over the connection that is the client's now. Call the returned function to stop. */
  readonly subscribe: (uri: string, client: Client | undefined) => () => void;
}

export class ClientSubscriptions {
  readonly #settings: ClientSubscriptionsSettings;
  readonly #all = new Set<ClientSubscription>();

  constructor(settings: ClientSubscriptionsSettings) {
    this.#settings = settings;
  }

  /** Until the returned function is called. @throws what `subscribe` throws. */
  subscribe(uri: string, client: Client | undefined): () => void {
    const subscription: ClientSubscription = { uri, client, stop: this.#settings.subscribe(uri, client) };
    this.#all.add(subscription);
    return () => {
      if (this.#all.delete(subscription)) subscription.stop();
    };
  }

  /** Clients share their connections in another way than before. */
  resubscribeAll(): void {
    const { server, log, subscribe } = this.#settings;
    for (const subscription of [...this.#all]) {
      subscription.stop();
      subscription.stop = () => {};
      try {
        subscription.stop = subscribe(subscription.uri, subscription.client);
      } catch (error) {
        log.warn({ server, error }, "a resource can be followed no longer");
      }
    }
  }
}
