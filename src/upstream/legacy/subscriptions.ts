/** Which resources are followed on one connection: one `resources/subscribe` each, however many want to hear. */

import type { RpcError } from "../../wire/envelope.js";
import type { JsonObject } from "../../wire/json.js";
import { objectAt } from "../../wire/json.js";

export interface SubscriptionSettings {
  /** The server's capabilities as they are now. */
  readonly capabilities: () => JsonObject;
  /** Sends one or the other, and resolves to the error that it is answered with; never rejects. */
  readonly send: (
    method: "resources/subscribe" | "resources/unsubscribe",
    uri: string,
  ) => Promise<RpcError | undefined>;
}

interface Subscription {
  count: number;
  /** What the server says to it. */
  answer: Promise<RpcError | undefined>;
}

export class ResourceSubscriptions {
  readonly #subscriptions = new Map<string, Subscription>();
  /** What a resource's server has yet to answer; over HTTP the next message could get there before it. */
  readonly #unanswered = new Map<string, Promise<unknown>>();
  readonly #settings: SubscriptionSettings;

  constructor(settings: SubscriptionSettings) {
    this.#settings = settings;
  }

  /** The resources that are followed now. */
  get uris(): readonly string[] {
    return [...this.#subscriptions.keys()];
  }

  /** Counts one more follower of `uri`; call the returned function once to stop. */
  subscribe(uri: string): () => void {
    const subscription = this.#subscriptions.get(uri) ?? {
      count: 0,
      answer: this.#send("resources/subscribe", uri),
    };
    subscription.count += 1;
    this.#subscriptions.set(uri, subscription);
    let stopped = false;
    return () => {
      if (stopped) return;
      stopped = true;
      subscription.count -= 1;
      if (subscription.count > 0) return;
      this.#subscriptions.delete(uri);
      // It was said, or there is nobody any more to whom it could be.
      this.#send("resources/unsubscribe", uri).catch(() => {});
    };
  }

  /** The error with which the server refused; waits for its answer. */
  async subscriptionError(uri: string): Promise<RpcError | undefined> {
    return this.#subscriptions.get(uri)?.answer;
  }

  /** The server has forgotten everything (a new session): tells it again what is followed. */
  resubscribe(): void {
    for (const [uri, subscription] of this.#subscriptions)
      subscription.answer = this.#send("resources/subscribe", uri);
  }

  async #send(
    method: "resources/subscribe" | "resources/unsubscribe",
    uri: string,
  ): Promise<RpcError | undefined> {
    // A server that never offered it would answer with an error; asking is no use.
    if (objectAt(this.#settings.capabilities(), "resources")?.subscribe !== true) return undefined;
    const before = this.#unanswered.get(uri);
    const { send } = this.#settings;
    const answer = before === undefined ? send(method, uri) : before.then(() => send(method, uri));
    this.#unanswered.set(uri, answer);
    try {
      return await answer;
    } finally {
      if (this.#unanswered.get(uri) === answer) this.#unanswered.delete(uri);
    }
  }
}
