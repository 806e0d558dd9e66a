/** Notifies clients of changes in their own view: lists that really differ, and followed resources. */

import type { Client } from "../core/client.js";
import type { Change, ChangeFeed, ChangeFilter, FollowTime } from "../core/gateway-api.js";
import type { ListKind } from "../core/lists.js";
import { inBackground, type Logger } from "../core/logger.js";
import { withTimeout } from "../core/stop.js";
import type { ListScope } from "../core/upstream.js";
import { cooperativeYield, runSteps, type Steps } from "../runtime/cooperative-yield.js";
import type { RpcError } from "../wire/envelope.js";
import { isSubResource } from "./naming.js";
import { ResourceOwners, type ResourceOwnersOptions, supportsSubscribe } from "./resource-owners.js";
import type { CatalogView, ListVersion, Snapshot } from "./view.js";

/** Dependencies of the notifier. */
export interface ChangeNotifierOptions extends ResourceOwnersOptions {
  /** The response to a list request of this client. */
  readonly listed: (client: Client, kind: ListKind) => Snapshot;
  /** Merges the lists of this client. */
  readonly merge: (client: Client) => Steps<void>;
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
  /** By exposed URI; undefined while no server can be subscribed for it. */
  readonly follows: Map<string, FollowedResource | undefined>;
}

/** A subscription that the server has not refused within this time (ms) counts as accepted. */
const REFUSAL_WAIT_MS = 2_000;
/**
 * Servers often change together (they start, or react to the same event), so changes within this window (ms)
 * are notified together.
 */
const COALESCE_MS = 20;
/** Subscribers notified per turn of the event loop. */
const BATCH_SIZE = 500;

/** The change feed of one catalog. */
export class ChangeNotifier implements ChangeFeed {
  readonly #options: ChangeNotifierOptions;
  readonly #owners: ResourceOwners;
  readonly #subscribers = new Set<Subscriber>();
  /** Subscribers that have followed something at a server, by its name, until they end. */
  readonly #followers = new Map<string, Set<Subscriber>>();
  /** Whether a walk over the subscribers is scheduled or running, and whether another must follow it. */
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

  /** All or nothing: if one subscription throws, the earlier ones are released, because they would have no owner. */
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

  /** A list of a scope has changed. */
  listsChanged(): void {
    this.#again = true;
    if (this.#isNotifying || this.#closed) return;
    this.#isNotifying = true;
    this.#due = setTimeout(
      () => inBackground(this.#notifyAll(), this.#options.logger, "telling changes"),
      COALESCE_MS,
    );
  }

  /** A server has connected, for the first time or again; it may notify of other resources. */
  serverOpened(name: string): void {
    this.listsChanged();
    const server = this.#options.servers.get(name);
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

  flush(): void {
    if (!this.#isNotifying) return;
    for (const subscriber of [...this.#subscribers]) this.#guard(() => this.#compare(subscriber));
  }

  /** A server notifies that its `uri` has changed. */
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
        await runSteps(this.#options.merge(subscriber.client));
        await this.#makeRevisions(subscriber);
        if (this.#subscribers.has(subscriber)) this.#guard(() => this.#compare(subscriber));
      }
    }
    this.#isNotifying = false;
  }

  /** Long lists get their revisions in steps; the lists may change meanwhile, so this is done twice at most. */
  async #makeRevisions(subscriber: Subscriber): Promise<void> {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const lists = this.#unrevised(subscriber);
      if (lists.length === 0) return;
      for (const list of lists) {
        await cooperativeYield();
        await runSteps(list.prepare());
      }
    }
  }

  #unrevised({ client, knownVersions }: Subscriber): readonly Snapshot[] {
    const lists: Snapshot[] = [];
    this.#guard(() => {
      for (const { kind } of knownVersions) {
        const list = this.#options.listed(client, kind);
        if (list.isLong && !list.hasRevision) lists.push(list);
      }
    });
    return lists;
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

  /** The server that `uri` waits for may have connected. Earlier updates were missed. */
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

  /** Undefined if a server has no free connection for the client now; the next change of a list retries. */
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

  /** A broken stream must not prevent other notifications. */
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

  /** A failed unsubscription must not keep others alive. */
  #stopAll(follows: Subscriber["follows"]): void {
    for (const follow of follows.values()) this.#guard(() => follow?.stop());
  }
}

/** For subscribers that follow nothing, which is the common case. */
const NONE: Map<string, FollowedResource | undefined> = new Map();
