/** How are resources followed in a session? By `resources/subscribe` (2025-11-25, server/resources, "Subscriptions"). */
import type { RpcError } from "../../wire/envelope.js";
import { type JsonObject, objectAt } from "../../wire/json.js";

type SubscribeMethod = "resources/subscribe" | "resources/unsubscribe";

/** How a session sends its subscriptions. */
export interface SubscriptionSettings {
  /** The server's capabilities as they are now. */
  readonly capabilities: () => JsonObject;
  /** Sends one or the other, and resolves to the error that the server answers with; never rejects. */
  readonly send: (method: SubscribeMethod, uri: string) => Promise<RpcError | undefined>;
}

/** The resources followed in one session; each is subscribed to once. */
export class ResourceSubscriptions {
  /** By URI: the server's answer to the subscription. */
  readonly #answers = new Map<string, Promise<RpcError | undefined>>();
  /** By URI: the last request not answered yet. Over HTTP the next one could overtake it. */
  readonly #pending = new Map<string, Promise<unknown>>();
  readonly #settings: SubscriptionSettings;

  constructor(settings: SubscriptionSettings) {
    this.#settings = settings;
  }

  /** The resources that are followed now. */
  get uris(): readonly string[] {
    return [...this.#answers.keys()];
  }

  subscribe(uri: string): void {
    this.#answers.set(uri, this.#send("resources/subscribe", uri));
  }

  unsubscribe(uri: string): void {
    this.#answers.delete(uri);
    // The answer changes nothing: no client follows the resource any more.
    this.#send("resources/unsubscribe", uri).catch(() => {});
  }

  /** The error with which the server refused; waits for its answer. */
  async subscriptionError(uri: string): Promise<RpcError | undefined> {
    return this.#answers.get(uri);
  }

  /** Subscribes to all resources again, in a new session. */
  resubscribe(): void {
    for (const uri of this.#answers.keys()) this.subscribe(uri);
  }

  async #send(method: SubscribeMethod, uri: string): Promise<RpcError | undefined> {
    // A server that did not advertise `subscribe` would answer with an error.
    if (objectAt(this.#settings.capabilities(), "resources")?.subscribe !== true) return undefined;
    const before = this.#pending.get(uri);
    const { send } = this.#settings;
    const answer = before === undefined ? send(method, uri) : before.then(() => send(method, uri));
    this.#pending.set(uri, answer);
    try {
      return await answer;
    } finally {
      if (this.#pending.get(uri) === answer) this.#pending.delete(uri);
    }
  }
}
