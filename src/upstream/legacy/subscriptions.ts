/** Which resources are followed on one connection: one `resources/subscribe` each, however many want to hear. */

import type { JsonObject } from "../../wire/json.js";
import { objectAt } from "../../wire/json.js";

export interface SubscriptionSettings {
  /** The server's capabilities as they are now. */
  readonly capabilities: () => JsonObject;
  /** Sends `resources/subscribe` or `resources/unsubscribe`; never rejects. */
  readonly send: (method: "resources/subscribe" | "resources/unsubscribe", uri: string) => void;
}

export class ResourceSubscriptions {
  readonly #followers = new Map<string, number>();
  readonly #settings: SubscriptionSettings;

  constructor(settings: SubscriptionSettings) {
    this.#settings = settings;
  }

  /** Counts one more follower of `uri`; call the returned function once to stop. */
  follow(uri: string): () => void {
    const before = this.#followers.get(uri) ?? 0;
    this.#followers.set(uri, before + 1);
    if (before === 0) this.#send("resources/subscribe", uri);
    let stopped = false;
    return () => {
      if (stopped) return;
      stopped = true;
      const left = (this.#followers.get(uri) ?? 1) - 1;
      if (left > 0) {
        this.#followers.set(uri, left);
      } else {
        this.#followers.delete(uri);
        this.#send("resources/unsubscribe", uri);
      }
    };
  }

  /** The server has forgotten everything (a new session): tells it again what is followed, and returns that. */
  renew(): readonly string[] {
    const uris = [...this.#followers.keys()];
    for (const uri of uris) this.#send("resources/subscribe", uri);
    return uris;
  }

  #send(method: "resources/subscribe" | "resources/unsubscribe", uri: string): void {
    // A server that never offered it would answer with an error; asking is no use.
    if (objectAt(this.#settings.capabilities(), "resources")?.subscribe === true) {
      this.#settings.send(method, uri);
    }
  }
}
