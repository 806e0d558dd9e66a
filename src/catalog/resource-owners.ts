/** Finds the server of a followed resource, and whether it can be subscribed now or once the server has connected. */

import type { Client } from "../core/client.js";
import type { FollowTime } from "../core/gateway-api.js";
import { withTimeout } from "../core/stop.js";
import { type JsonObject, objectAt } from "../wire/json.js";
import type { ServerLists } from "./server-lists.js";
import type { CatalogView, VisibilityCheck } from "./view.js";

export interface ResourceOwnersOptions {
  readonly view: (client: Client) => CatalogView;
  readonly servers: ReadonlyMap<string, ServerLists>;
  /** A resource for which it returns false cannot be followed: updates would reveal it. */
  readonly mayFollow: VisibilityCheck | undefined;
  /** The text of a resource of the gateway itself; undefined if it is none. */
  readonly ownText: (client: Client, uri: string) => string | undefined;
  /** How long (ms) a client waits for the lists of starting servers. */
  readonly callWaitMs: number;
}

/** A server, and its own URI of a resource. */
export interface Owner {
  readonly server: ServerLists;
  /** The server's own URI. */
  readonly target: string;
}

/** `own`: it is one of the gateway itself. `isMet`: the server has connected, and does not support subscriptions. */
export type ResourceLookup =
  | ({ readonly when: "now" } & Owner)
  | { readonly when: "later" }
  | { readonly when: "own" }
  | { readonly when: "never"; readonly isMet: boolean };

/** Time limit (ms) for a subscription to wait for a starting server that owns the resource. */
const CONNECT_WAIT_MS = 10_000;

/** Finds the servers of resources that clients follow. */
export class ResourceOwners {
  readonly #options: ResourceOwnersOptions;

  constructor(options: ResourceOwnersOptions) {
    this.#options = options;
  }

  find(client: Client, view: CatalogView, uri: string): ResourceLookup {
    const { servers, mayFollow, ownText } = this.#options;
    if (ownText(client, uri) !== undefined) return { when: "own" };
    const route = view.find("resources", uri);
    const server = route === undefined ? undefined : servers.get(route.upstream);
    if (route === undefined || server === undefined) return NOT_FOUND;
    if (mayFollow?.(client, route) === false) return NOT_FOUND;
    if (server.facts === undefined) return { when: "later" };
    if (!supportsSubscribe(server, client)) return NOT_SUBSCRIBABLE;
    return { when: "now", server, target: route.target };
  }

  /** The server of a resource, if it can be followed now. */
  owner(client: Client, view: CatalogView, uri: string): Owner | undefined {
    const found = this.find(client, view, uri);
    return found.when === "now" ? found : undefined;
  }

  /** See `ChangeFeed`. */
  async followable(client: Client, uris: readonly string[]): Promise<ReadonlyMap<string, FollowTime>> {
    await this.#awaitOwners(client, this.#options.view(client), uris);
    const view = this.#options.view(client);
    const found = new Map<string, FollowTime>();
    for (const uri of uris) {
      const { when } = this.find(client, view, uri);
      if (when !== "never") found.set(uri, when === "own" ? "now" : when);
    }
    return found;
  }

  /**
   * Waits for servers that have never connected: the owners of `uris` by their form, and for a shorter time those that
   * may list one.
   */
  async #awaitOwners(client: Client, view: CatalogView, uris: readonly string[]): Promise<void> {
    const { servers, mayFollow, ownText, callWaitMs } = this.#options;
    const owners = new Set<ServerLists>();
    const listers = new Set<ServerLists>();
    for (const uri of uris) {
      if (ownText(client, uri) !== undefined) continue;
      const route = view.find("resources", uri);
      if (route === undefined) for (const server of this.#starting(view)) listers.add(server);
      else if (mayFollow?.(client, route) !== false) {
        const server = servers.get(route.upstream);
        if (server !== undefined && !isMet(server, client)) owners.add(server);
      }
    }
    const met = (some: ReadonlySet<ServerLists>, ms: number): Promise<unknown> =>
      withTimeout(
        some.size === 0 ? 0 : ms,
        Promise.all([...some].map((server) => server.whenLoaded(client))),
      );
    await Promise.all([met(owners, CONNECT_WAIT_MS), met(listers, callWaitMs)]);
  }

  #starting({ endpoint }: CatalogView): readonly ServerLists[] {
    return endpoint.namespaces.flatMap(({ name }) => {
      const server = this.#options.servers.get(name);
      const isStarting = server?.facts === undefined && server?.upstream.state === "starting";
      return server !== undefined && isStarting ? [server] : [];
    });
  }
}

/** Whether a server advertises resource subscriptions to clients like `client`: in a session it may offer others. */
export function supportsSubscribe(
  server: Pick<ServerLists, "factsFor"> | undefined,
  client: Client,
): boolean {
  const capabilities: JsonObject | undefined = server?.factsFor(client)?.capabilities;
  return objectAt(capabilities, "resources")?.subscribe === true;
}

/** Whether it is known what a server offers to `client`; its own connection, which tells it, may not have been opened yet. */
const isMet = (server: ServerLists, client: Client): boolean =>
  server.facts !== undefined && (supportsSubscribe(server, client) || server.isPrepared(client));

const NOT_FOUND: ResourceLookup = { when: "never", isMet: false };
/** For a server without resource subscriptions. */
const NOT_SUBSCRIBABLE: ResourceLookup = { when: "never", isMet: true };
