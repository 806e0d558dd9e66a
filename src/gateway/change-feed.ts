/** Keeps change subscriptions alive when a new config replaces the catalog. */
import type { Client } from "../core/client.js";
import type { Change, ChangeFeed, ChangeFilter, FollowTime } from "../core/gateway-api.js";
import type { Logger } from "../core/logger.js";
import type { RpcError } from "../wire/envelope.js";

interface Subscription {
  readonly client: Client;
  interest: ChangeFilter;
  readonly onChange: (change: Change) => void;
  stop: () => void;
}

/** A change feed whose source can be replaced while it has subscribers. */
export class PersistentChangeFeed implements ChangeFeed {
  #source: ChangeFeed;
  readonly #logger: Logger;
  readonly #subscriptions = new Set<Subscription>();

  constructor(source: ChangeFeed, logger: Logger) {
    this.#source = source;
    this.#logger = logger;
  }

  subscribe(client: Client, interest: ChangeFilter, onChange: (change: Change) => void): () => void {
    const notify = (change: Change): void => {
      if (change.kind === "unfollowed") subscription.interest = without(subscription.interest, change.uri);
      onChange(change);
    };
    const subscription: Subscription = { client, interest, onChange: notify, stop: () => {} };
    subscription.stop = this.#source.subscribe(client, interest, notify);
    this.#subscriptions.add(subscription);
    return () => {
      this.#subscriptions.delete(subscription);
      subscription.stop();
    };
  }

  followable(client: Client, uris: readonly string[]): Promise<ReadonlyMap<string, FollowTime>> {
    return this.#source.followable(client, uris);
  }

  async refusals(client: Client, uris: readonly string[]): Promise<ReadonlyMap<string, RpcError>> {
    return (await this.#source.refusals?.(client, uris)) ?? new Map();
  }

  /**
   * Moves every subscription to `source`. A subscriber is notified of the lists for which `differs` returns true, and
   * of its followed resources, whose updates may have been missed.
   */
  switchTo(source: ChangeFeed, differs: (client: Client, change: Change) => boolean): void {
    // Pending changes of the old source are sent first: the new source treats its current lists as known.
    this.#source.flush?.();
    this.#source = source;
    for (const subscription of [...this.#subscriptions]) {
      // An earlier subscriber's callback may have ended this subscription.
      if (!this.#subscriptions.has(subscription)) continue;
      const { client, interest, onChange } = subscription;
      // Subscribed before the old one is dropped, so that a server in both keeps its upstream subscription.
      const stopOld = subscription.stop;
      // A resource that cannot be followed now must not fail the rest of the subscription.
      subscription.stop = source.subscribe(client, { ...interest, allowPartial: true }, onChange);
      stopOld();
      const missed: Change[] = [
        ...[...interest.lists].map((list): Change => ({ kind: "list", list })),
        ...[...interest.resources].map((uri): Change => ({ kind: "resource", uri })),
      ];
      for (const change of missed.filter((each) => differs(client, each))) this.#notify(onChange, change);
    }
  }

  /** A callback that throws must prevent neither other notifications nor the config change. */
  #notify(onChange: Subscription["onChange"], change: Change): void {
    try {
      onChange(change);
    } catch (error) {
      this.#logger.warn({ error }, "a subscriber could not be notified of a change");
    }
  }
}

/** A resource that its server refuses is not followed at the next source either: its subscriber has ended it. */
const without = (interest: ChangeFilter, uri: string): ChangeFilter => ({
  ...interest,
  resources: new Set([...interest.resources].filter((followed) => followed !== uri)),
});
