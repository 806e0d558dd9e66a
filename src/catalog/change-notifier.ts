/** Tells clients what changed in their own view: lists that really differ, and resources they follow. */

import type { Client } from "../core/client.js";
import type { Change, ChangeFeed, ChangeFilter, FollowTime } from "../core/gateway-api.js";
import type { ListKind } from "../core/lists.js";
import { inBackground, type Logger } from "../core/logger.js";
import { withTimeout } from "../core/stop.js";
import type { ListScope } from "../core/upstream.js";
import type { RpcError } from "../wire/envelope.js";
import { isSubResource } from "./naming.js";
import { ResourceOwners, type ResourceOwnersOptions, supportsSubscribe } from "./resource-owners.js";
import type { CatalogView, ListVersion, Snapshot } from "./view.js";

/** What the notifier reads, and where it subscribes. */
export interface ChangeNotifierOptions extends ResourceOwnersOptions {
  /** What a list request of this client answers. */
  readonly listed: (client: Client, kind: ListKind) => Snapshot;
  readonly logger: Logger;
}

/** One resource that a subscriber follows. */
interface FollowedResource {
  readonly server: string;
  /** The server's own URI. */
  readonly target: string;
  readonly stop: () => void;
}

interface Subscriber {
  readonly client: Client;
  readonly onChange: (change: Change) => void;
  /** The followed lists, in the version of the subscription or of the last notification. */
  readonly knownVersions: ListVersion[];
  /** By exposed URI; undefined while no server that can be followed owns it. */
  readonly follows: Map<string, FollowedResource | undefined>;
}

/** A server that has not refused within this time (ms) has not refused. */
const REFUSAL_WAIT_MS = 2_000;
/**
 * Servers often change together (they start, or react to the same event), so changes within this window (ms)
 * are notified together.
 */
const COALESCE_MS = 20;
/** Subscribers that are notified before the event loop gets a turn. */
const BATCH_SIZE = 500;

/** The change feed of one catalog. */
export class ChangeNotifier implements ChangeFeed {
  readonly #options: ChangeNotifierOptions;
  readonly #owners: ResourceOwners;
  readonly #subscribers = new Set<Subscriber>();
  /** Those that have followed something at a server, by its name, until they end: its updates are of no concern to others. */
  readonly #followers = new Map<string, Set<Subscriber>>();
  /** A walk over the subscribers is due or under way, and whether another must follow it. */
  #isNotifying = false;
  #again = false;
  #due: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ChangeNotifierOptions) {
    this.#options = options;
    this.#owners = new ResourceOwners(options);
  }

  subscribe(client: Client, interest: ChangeFilter, onChange: (change: Change) => void): () => void {
    const view = this.#options.view(client);
    const subscriber: Subscriber = {
      client,
      onChange,
      knownVersions: [...interest.lists].map((kind) => this.#options.listed(client, kind).version),
      follows: interest.resources.size === 0 ? NONE : this.#followAll(client, view, interest),
    };
    this.#subscribers.add(subscriber);
    for (const follow of subscriber.follows.values()) this.#addFollower(subscriber, follow);
    return () => this.#end(subscriber);
  }

  /** All or nothing: where one follow throws, those before it are stopped, as no subscriber would ever own them. */
  #followAll(
    client: Client,
    view: CatalogView,
    { resources, allowPartial }: ChangeFilter,
  ): Subscriber["follows"] {
    const follows: Subscriber["follows"] = new Map();
    try {
      for (const uri of resources) {
        follows.set(uri, allowPartial ? this.#tryFollow(client, view, uri) : this.#follow(client, view, uri));
      }
    } catch (error) {
      this.#stopAll(follows);
      throw error;
    }
    return follows;
  }

  followable(client: Client, uris: readonly string[]): Promise<ReadonlyMap<string, FollowTime>> {
    return this.#owners.followable(client, uris);
  }

  async refusals(client: Client, uris: readonly string[]): Promise<ReadonlyMap<string, RpcError>> {
    const view = this.#options.view(client);
    const refused = new Map<string, RpcError>();
    let late = false;
    const asked = uris.map(async (uri) => {
      const owner = this.#owners.owner(client, view, uri);
      const error = await owner?.server.upstream.subscriptionError?.(owner.target, client);
      if (error === undefined) return;
      refused.set(uri, error);
      if (late) this.#onLateRefusal(client, uri);
    });
    await withTimeout(REFUSAL_WAIT_MS, Promise.allSettled(asked));
    late = true;
    return new Map(refused);
  }

  /** Some list of some audience is another one now. */
  listsChanged(): void {
    this.#again = true;
    if (this.#isNotifying || this.#closed) return;
    this.#isNotifying = true;
    this.#due = setTimeout(
      () => inBackground(this.#notifyAll(), this.#options.logger, "telling changes"),
      COALESCE_MS,
    );
  }

  /** A server is there, for the first time or again; it may be another, which tells of other resources. */
  serverOpened(name: string): void {
    this.listsChanged();
    const tells = supportsSubscribe(this.#options.servers.get(name));
    const again = new Map<Client, string[]>();
    for (const subscriber of [...(this.#followers.get(name) ?? [])]) {
      for (const [uri, follow] of [...subscriber.follows]) {
        if (follow?.server !== name) continue;
        if (!tells) this.#unfollow(subscriber, uri);
        else if (again.get(subscriber.client)?.push(uri) === undefined) again.set(subscriber.client, [uri]);
      }
    }
    for (const [client, uris] of again) this.#recheckRefusals(client, uris);
  }

  flush(): void {
    if (!this.#isNotifying) return;
    for (const subscriber of [...this.#subscribers]) this.#guard(() => this.#compare(subscriber));
  }

  /** A server says that its `uri` is not what it was. */
  resourceUpdated(server: string, uri: string, listScope: ListScope | undefined): void {
    const from = this.#options.servers.get(server);
    if (from === undefined) return;
    for (const subscriber of [...(this.#followers.get(server) ?? [])]) {
      const whose = from.upstream.listScope(subscriber.client);
      if (listScope === undefined ? whose.hasOwnUpdates === true : whose.key !== listScope.key) continue;
      const exposed = this.#followedAs(subscriber, server, uri);
      if (exposed !== undefined) this.#notify(subscriber, { kind: "resource", uri: exposed });
    }
  }

  /** What the subscriber calls `uri` of `server`, where it follows that, or what it is a part of. */
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

  /** The URI of a part of what is followed; undefined where the part may not be followed by itself. */
  #exposed({ client }: Subscriber, server: string, uri: string): string | undefined {
    const route = this.#options.view(client).resourceOf(server, uri);
    return route === undefined || this.#options.mayFollow?.(client, route) === false
      ? undefined
      : route.exposed;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#due);
    for (const subscriber of [...this.#subscribers]) this.#end(subscriber);
  }

  async #notifyAll(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      let told = 0;
      for (const subscriber of [...this.#subscribers]) {
        if (++told % BATCH_SIZE === 0) await new Promise((resume) => setImmediate(resume));
        if (this.#subscribers.has(subscriber)) this.#guard(() => this.#compare(subscriber));
      }
    }
    this.#isNotifying = false;
  }

  #compare(subscriber: Subscriber): void {
    const view = this.#options.view(subscriber.client);
    for (const [at, before] of subscriber.knownVersions.entries()) {
      const { kind } = before;
      const now = this.#options.listed(subscriber.client, kind).version;
      if (now === before) continue;
      subscriber.knownVersions[at] = now;
      if (now.revision !== before.revision) this.#notify(subscriber, { kind: "list", list: kind });
    }
    for (const [uri, follow] of subscriber.follows) {
      // A callback may unsubscribe.
      if (follow === undefined && this.#subscribers.has(subscriber)) this.#followLate(subscriber, view, uri);
    }
  }

  /** The server that `uri` waits for may be there now. What happened before it was followed went unheard. */
  #followLate(subscriber: Subscriber, view: CatalogView, uri: string): void {
    const { client, follows } = subscriber;
    const found = this.#owners.find(client, view, uri);
    if (found.when === "later") return;
    if (found.when === "never") {
      if (found.isMet) this.#unfollow(subscriber, uri);
      return;
    }
    const follow = this.#tryFollow(client, view, uri);
    if (follow === undefined) return;
    follows.set(uri, follow);
    this.#addFollower(subscriber, follow);
    this.#notify(subscriber, { kind: "resource", uri });
    this.#recheckRefusals(client, [uri]);
  }

  /** Whether a server refuses a resource after its followers got a subscription. */
  #recheckRefusals(client: Client, uris: readonly string[]): void {
    const asked = this.refusals(client, uris).then((refused) => {
      for (const uri of refused.keys()) this.#onLateRefusal(client, uri);
    });
    inBackground(asked, this.#options.logger, "asking whether a resource is refused");
  }

  /** The server of a resource refuses it after its followers got a subscription. */
  #onLateRefusal(client: Client, uri: string): void {
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

  /** Undefined where a server has no room for the client at the moment; the next change of a list tries again. */
  #tryFollow(client: Client, view: CatalogView, uri: string): FollowedResource | undefined {
    try {
      return this.#follow(client, view, uri);
    } catch (error) {
      this.#options.logger.info({ error }, "a resource cannot be subscribed to at the moment");
      return undefined;
    }
  }

  #follow(client: Client, view: CatalogView, uri: string): FollowedResource | undefined {
    const owner = this.#owners.owner(client, view, uri);
    if (owner === undefined) return undefined;
    const { server, target } = owner;
    return { server: server.name, target, stop: server.upstream.subscribe(target, client) };
  }

  #notify(subscriber: Subscriber, change: Change): void {
    this.#guard(() => subscriber.onChange(change));
  }

  /** One broken stream must not keep the others from hearing. */
  #guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#options.logger.warn({ error }, "a subscriber of changes failed");
    }
  }

  #end(subscriber: Subscriber): void {
    if (!this.#subscribers.delete(subscriber)) return;
    if (subscriber.follows !== NONE) for (const others of this.#followers.values()) others.delete(subscriber);
    this.#stopAll(subscriber.follows);
  }

  /** One server that fails to stop keeps no other follow alive. */
  #stopAll(follows: Subscriber["follows"]): void {
    for (const follow of follows.values()) this.#guard(() => follow?.stop());
  }
}

/** Of those who follow nothing, which are nearly all. */
const NONE: Map<string, FollowedResource | undefined> = new Map();
