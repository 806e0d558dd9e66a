/** The resources that clients follow at one server, each over the connection that is its client's at the moment. */
import type { Client } from "../core/client.js";
import type { Logger } from "../core/logger.js";

interface Follow {
  readonly uri: string;
  readonly client: Client | undefined;
  stop: () => void;
}

interface FollowedResourcesSettings {
  readonly server: string;
  readonly log: Logger;
  /** Follows over the connection that is the client's now. Call the returned function to stop. */
  readonly place: (uri: string, client: Client | undefined) => () => void;
}

export class FollowedResources {
  readonly #settings: FollowedResourcesSettings;
  readonly #all = new Set<Follow>();

  constructor(settings: FollowedResourcesSettings) {
    this.#settings = settings;
  }

  /** Until the returned function is called. @throws what `place` throws. */
  follow(uri: string, client: Client | undefined): () => void {
    const follow: Follow = { uri, client, stop: this.#settings.place(uri, client) };
    this.#all.add(follow);
    return () => {
      if (this.#all.delete(follow)) follow.stop();
    };
  }

  /** Clients share their connections in another way than before. */
  placeAgain(): void {
    const { server, log, place } = this.#settings;
    for (const follow of [...this.#all]) {
      follow.stop();
      follow.stop = () => {};
      try {
        follow.stop = place(follow.uri, follow.client);
      } catch (error) {
        log.warn({ server, error }, "a resource can be followed no longer");
      }
    }
  }
}
