/** A feed of changes that outlives the catalogs behind it: subscribers stay when a new config takes effect. */
import type { Change, ChangeFeed, ChangeFilter, FollowTime } from "../core/change.js";
import type { Client } from "../core/client.js";
import type { Logger } from "../core/logger.js";
import type { RpcError } from "../wire/envelope.js";

interface Subscription {
  readonly client: Client;
  readonly interest: ChangeFilter;
  readonly onChange: (change: Change) => void;
  stop: () => void;
}

export class PersistentChangeFeed implements ChangeFeed {
  #source: ChangeFeed;
  readonly #logger: Logger;
  readonly #subscriptions = new Set<Subscription>();

  constructor(source: ChangeFeed, logger: Logger) {
    this.#source = source;
    this.#logger = logger;
  }

  subscribe(client: Client, interest: ChangeFilter, onChange: (change: Change) => void): () => void {
    const subscription: Subscription = {
      client,
      interest,
      onChange,
      stop: this.#source.subscribe(client, interest, onChange),
    };
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
   * From now on hears `source`. Each subscriber is told of the lists for which `differs` says that its client
   * sees something else than before, and of the resources it follows, whose updates it may have missed.
   */
  switchTo(source: ChangeFeed, differs: (client: Client, change: Change) => boolean): void {
    // What is still to be told of the last source would look as if everybody knew it.
    this.#source.flush?.();
    this.#source = source;
    for (const subscription of [...this.#subscriptions]) {
      // Whoever hears of it first may leave, or make others leave.
      if (!this.#subscriptions.has(subscription)) continue;
      const { client, interest, onChange } = subscription;
      // The new one begins first, so that no server which both have is told to stop and start again.
      const stopOld = subscription.stop;
      // Where a server has no connection left on which a resource could be followed, the rest is heard all the same.
      subscription.stop = source.subscribe(client, { ...interest, allowPartial: true }, onChange);
      stopOld();
      const missed: Change[] = [
        ...[...interest.lists].map((list): Change => ({ kind: "list", list })),
        ...[...interest.resources].map((uri): Change => ({ kind: "resource", uri })),
      ];
      for (const change of missed.filter((each) => differs(client, each))) this.#notify(onChange, change);
    }
  }

  /** One broken stream must not keep the others from hearing, nor the config from taking effect. */
  #notify(onChange: Subscription["onChange"], change: Change): void {
    try {
      onChange(change);
    } catch (error) {
      this.#logger.warn({ error }, "a subscriber could not be told of a change");
    }
  }
}
