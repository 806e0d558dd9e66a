/**
 * Which clients follow which lists and resources, in every config that there will be, and what is each notified of? Lists that
 * really differ in its own view, and updates of what it follows.
 */

import type { Client } from "../core/client.js";
import type { Change, ChangeFeed, ChangeFilter, FollowTime } from "../core/gateway-api.js";
import { inBackground, type Logger } from "../core/logger.js";
import { withTimeout } from "../core/stop.js";
import type { ListScope } from "../core/upstream.js";
import type { RpcError } from "../wire/envelope.js";
import { ListComparisons, type ListSource, type ListSubscriber } from "./list-comparisons.js";
import { isSubResource } from "./naming.js";
import { OwnFollows } from "./own-resources.js";
import { ResourceOwners, type ResourceOwnersOptions, supportsSubscribe } from "./resource-owners.js";
import type { CatalogView } from "./view.js";

/** What the bus reads of a catalog. Only that of the live one counts. */
export interface ChangeSource extends ResourceOwnersOptions, ListSource {}

/** The catalog that is live, with what lasts as long. */
interface LiveSource {
  readonly source: ChangeSource;
  readonly owners: ResourceOwners;
  readonly comparisons: ListComparisons<Subscriber>;
}

/** One resource that a subscriber follows. */
interface FollowedResource {
  /** "" for the gateway itself. */
  readonly server: string;
  /** The server's own URI. */
  readonly target: string;
  readonly stop: () => void;
}

interface Subscriber extends ListSubscriber {
  readonly onChange: (change: Change) => void;
  /** By exposed URI; undefined while no server can be subscribed for it. */
  readonly follows: Map<string, FollowedResource | undefined>;
}

type Follower = Pick<Subscriber, "client" | "onChange">;

/** A subscription that the server has not refused within this time (ms) counts as accepted. */
const REFUSAL_WAIT_MS = 2_000;

/** The change feed of a gateway. It outlives the catalogs, of which one is live. */
export class ChangeBus implements ChangeFeed {
  readonly #logger: Logger;
  readonly #subscribers = new Set<Subscriber>();
  /** Subscribers that have followed something at a server of the live catalog, by its name, until they end. */
  readonly #followers = new Map<string, Set<Subscriber>>();
  #live: LiveSource;
  readonly #own: OwnFollows;

  /** @param source of the first catalog, which is live */
  constructor(source: ChangeSource, logger: Logger) {
    this.#logger = logger;
    this.#live = this.#liveFrom(source);
    this.#own = new OwnFollows((client, uri) => this.#live.source.ownText(client, uri), logger);
  }

  #liveFrom(source: ChangeSource): LiveSource {
    const comparisons = new ListComparisons({
      ...{ source, subscribers: this.#subscribers, logger: this.#logger },
      compare: (subscriber) => this.#guard(() => this.#compare(subscriber)),
      guard: (step) => this.#guard(step),
    });
    return { source, owners: new ResourceOwners(source), comparisons };
  }

  subscribe(client: Client, interest: ChangeFilter, onChange: (change: Change) => void): () => void {
    const subscriber = this.#subscriberOf({ client, onChange }, interest);
    this.#subscribers.add(subscriber);
    for (const follow of subscriber.follows.values()) this.#addFollower(subscriber, follow);
    // A closure in the scope of `source` would keep that catalog in memory as long as the subscriber.
    return () => this.#end(subscriber);
  }

  #subscriberOf(follower: Follower, interest: ChangeFilter): Subscriber {
    const { source } = this.#live;
    const { client } = follower;
    const view = source.view(client);
    return {
      ...follower,
      knownVersions: [...interest.lists].map((kind) => source.listed(client, kind).version),
      follows: interest.resources.size === 0 ? NONE : this.#followAll(follower, view, interest),
    };
  }

  /**
   * Makes the catalog of `source` the live one. Each subscriber is notified of its lists that differ, and of what it follows,
   * whose updates may have been missed.
   */
  switchTo(source: ChangeSource): void {
    const { source: before, comparisons } = this.#live;
    // Pending changes of the old catalog are sent first: the current lists of the new one count as known.
    comparisons.flush();
    comparisons.close();
    this.#live = this.#liveFrom(source);
    this.#followers.clear();
    for (const subscriber of [...this.#subscribers]) {
      // The callback of an earlier one may have ended it.
      if (this.#subscribers.has(subscriber)) this.#move(subscriber, before, source);
    }
  }

  #move(subscriber: Subscriber, before: ChangeSource, now: ChangeSource): void {
    const { client, follows } = subscriber;
    const view = now.view(client);
    const lists = subscriber.knownVersions.map(({ kind }) => kind);
    subscriber.knownVersions = lists.map((kind) => now.listed(client, kind).version);
    const uris = [...follows.keys()];
    const old = [...follows.values()];
    // Followed before the old ones end, so that a server in both configs keeps its subscription. A resource that cannot be
    // followed now must not fail the others.
    for (const uri of uris) {
      const follow = this.#tryFollow(subscriber, view, uri);
      follows.set(uri, follow);
      this.#addFollower(subscriber, follow);
    }
    this.#stopAll(old);
    const changed = lists.filter(
      (kind) => before.listed(client, kind).revision !== now.listed(client, kind).revision,
    );
    for (const list of changed) this.#notifyMissed(subscriber, { kind: "list", list });
    for (const uri of uris) this.#notifyMissed(subscriber, { kind: "resource", uri });
  }

  /** A callback that throws must prevent neither other notifications nor the config change. */
  #notifyMissed({ onChange }: Subscriber, change: Change): void {
    this.#guard(() => onChange(change), "a subscriber could not be notified of a change");
  }

  /** All or nothing: if one subscription throws, the earlier ones are released, because they would have no owner. */
  #followAll(
    follower: Follower,
    view: CatalogView,
    { resources, allowPartial }: ChangeFilter,
  ): Subscriber["follows"] {
    const follows: Subscriber["follows"] = new Map();
    try {
      for (const uri of resources) {
        follows.set(
          uri,
          allowPartial ? this.#tryFollow(follower, view, uri) : this.#follow(follower, view, uri),
        );
      }
    } catch (error) {
      this.#stopAll(follows.values());
      throw error;
    }
    return follows;
  }

  followable(client: Client, uris: readonly string[]): Promise<ReadonlyMap<string, FollowTime>> {
    return this.#live.owners.followable(client, uris);
  }

  async refusals(client: Client, uris: readonly string[]): Promise<ReadonlyMap<string, RpcError>> {
    const { source, owners } = this.#live;
    const view = source.view(client);
    const refused = new Map<string, RpcError>();
    let late = false;
    const asked = uris.map(async (uri) => {
      const owner = owners.owner(client, view, uri);
      const error = await owner?.server.upstream.resources.subscriptionError?.(owner.target, client);
      if (error === undefined) return;
      refused.set(uri, error);
      if (late) this.#onLateRefusal(source, client, uri);
    });
    await withTimeout(REFUSAL_WAIT_MS, Promise.allSettled(asked));
    late = true;
    return new Map(refused);
  }

  /** A list of a scope has changed in the catalog of `source`. */
  listsChanged(source: ChangeSource): void {
    if (source === this.#live.source) this.#live.comparisons.schedule();
  }

  /** The state of a server may have changed in the catalog of `source`. */
  stateChanged(source: ChangeSource): void {
    if (source === this.#live.source) this.#own.schedule();
  }

  /** A server has connected, for the first time or again; it may notify of other resources. */
  serverOpened(source: ChangeSource, name: string): void {
    if (source !== this.#live.source) return;
    this.#live.comparisons.schedule();
    const server = source.servers.get(name);
    const again = new Map<Client, string[]>();
    for (const subscriber of [...(this.#followers.get(name) ?? [])]) {
      const tells = supportsSubscribe(server, subscriber.client);
      for (const [uri, follow] of [...subscriber.follows]) {
        if (follow?.server !== name) continue;
        if (!tells) this.#unfollow(subscriber, uri);
        else if (again.get(subscriber.client)?.push(uri) === undefined) again.set(subscriber.client, [uri]);
      }
    }
    for (const [client, uris] of again) this.#recheckRefusals(client, uris);
  }

  /** A server notifies that its `uri` has changed. */
  resourceUpdated(source: ChangeSource, server: string, uri: string, listScope: ListScope | undefined): void {
    const from = source === this.#live.source ? source.servers.get(server) : undefined;
    if (from === undefined) return;
    for (const subscriber of [...(this.#followers.get(server) ?? [])]) {
      const whose = from.upstream.listScope(subscriber.client);
      if (listScope === undefined ? whose.hasOwnUpdates === true : whose.key !== listScope.key) continue;
      const exposed = this.#followedAs(subscriber, server, uri);
      if (exposed !== undefined) this.#notify(subscriber, { kind: "resource", uri: exposed });
    }
  }

  /** The subscriber's URI for `uri` of `server`, if it follows that or an ancestor of it. */
  #followedAs(subscriber: Subscriber, server: string, uri: string): string | undefined {
    for (const [exposed, follow] of subscriber.follows) {
      if (follow?.server !== server || !isSubResource(uri, follow.target)) continue;
      return uri === follow.target ? exposed : this.#exposed(subscriber, server, uri);
    }
    return undefined;
  }

  #addFollower(subscriber: Subscriber, follow: FollowedResource | undefined): void {
    if (follow === undefined) return;
    const known = this.#followers.get(follow.server);
    if (known === undefined) this.#followers.set(follow.server, new Set([subscriber]));
    else known.add(subscriber);
  }

  /** The URI of a sub-resource; undefined if it may not be followed. */
  #exposed({ client }: Subscriber, server: string, uri: string): string | undefined {
    const { view, mayFollow } = this.#live.source;
    const route = view(client).resourceOf(server, uri);
    return route === undefined || mayFollow?.(client, route) === false ? undefined : route.exposed;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /** The catalog of `source` is closed: if it is the live one, nothing is followed from now on. */
  close(source: ChangeSource): void {
    if (source !== this.#live.source) return;
    this.#live.comparisons.close();
    this.#own.close();
    for (const subscriber of [...this.#subscribers]) this.#end(subscriber);
  }

  #compare(subscriber: Subscriber): void {
    const { source } = this.#live;
    const view = source.view(subscriber.client);
    for (const [at, before] of subscriber.knownVersions.entries()) {
      const { kind } = before;
      const now = source.listed(subscriber.client, kind).version;
      if (now === before) continue;
      subscriber.knownVersions[at] = now;
      if (now.revision !== before.revision) this.#notify(subscriber, { kind: "list", list: kind });
    }
    for (const [uri, follow] of subscriber.follows) {
      // A callback may unsubscribe.
      if (follow === undefined && this.#subscribers.has(subscriber)) this.#followLate(subscriber, view, uri);
    }
  }

  /** The server that `uri` waits for may have connected. Earlier updates were missed. */
  #followLate(subscriber: Subscriber, view: CatalogView, uri: string): void {
    const { client, follows } = subscriber;
    const found = this.#live.owners.find(client, view, uri);
    if (found.when === "later") return;
    if (found.when === "never") {
      if (found.isMet) this.#unfollow(subscriber, uri);
      return;
    }
    const follow = this.#tryFollow(subscriber, view, uri);
    if (follow === undefined) return;
    follows.set(uri, follow);
    this.#addFollower(subscriber, follow);
    this.#notify(subscriber, { kind: "resource", uri });
    this.#recheckRefusals(client, [uri]);
  }

  /** Whether a server refuses a resource after its followers got a subscription. */
  #recheckRefusals(client: Client, uris: readonly string[]): void {
    const { source } = this.#live;
    const asked = this.refusals(client, uris).then((refused) => {
      for (const uri of refused.keys()) this.#onLateRefusal(source, client, uri);
    });
    inBackground(asked, this.#logger, "asking whether a resource is refused");
  }

  /** The server of a resource refuses it after its followers got a subscription. */
  #onLateRefusal(source: ChangeSource, client: Client, uri: string): void {
    // What the next catalog follows is asked for again.
    if (source !== this.#live.source) return;
    for (const subscriber of [...this.#subscribers]) {
      if (subscriber.client === client && subscriber.follows.get(uri)) this.#unfollow(subscriber, uri);
    }
  }

  #unfollow(subscriber: Subscriber, uri: string): void {
    const follow = subscriber.follows.get(uri);
    subscriber.follows.delete(uri);
    this.#guard(() => follow?.stop());
    this.#notify(subscriber, { kind: "unfollowed", uri });
  }

  /** Undefined if a server has no free connection for the client now; the next change of a list retries. */
  #tryFollow(follower: Follower, view: CatalogView, uri: string): FollowedResource | undefined {
    try {
      return this.#follow(follower, view, uri);
    } catch (error) {
      this.#logger.info({ error }, "a resource cannot be subscribed to at the moment");
      return undefined;
    }
  }

  #follow({ client, onChange }: Follower, view: CatalogView, uri: string): FollowedResource | undefined {
    const stop = this.#own.follow(client, uri, () => this.#guard(() => onChange({ kind: "resource", uri })));
    if (stop !== undefined) return { server: "", target: uri, stop };
    const owner = this.#live.owners.owner(client, view, uri);
    if (owner === undefined) return undefined;
    const { server, target } = owner;
    return { server: server.name, target, stop: server.upstream.resources.subscribe(target, client) };
  }

  #notify(subscriber: Subscriber, change: Change): void {
    this.#guard(() => subscriber.onChange(change));
  }

  /** A broken stream must not prevent other notifications. */
  #guard(step: () => void, sentence = "a subscriber of changes failed"): void {
    try {
      step();
    } catch (error) {
      this.#logger.warn({ error }, sentence);
    }
  }

  #end(subscriber: Subscriber): void {
    if (!this.#subscribers.delete(subscriber)) return;
    if (subscriber.follows !== NONE) for (const others of this.#followers.values()) others.delete(subscriber);
    this.#stopAll(subscriber.follows.values());
  }

  /** A failed unsubscription must not keep others alive. */
  #stopAll(follows: Iterable<FollowedResource | undefined>): void {
    for (const follow of follows) this.#guard(() => follow?.stop());
  }
}

/** For subscribers that follow nothing, which is the common case. */
const NONE: Map<string, FollowedResource | undefined> = new Map();
