/** What one client sees at one moment: its lists, and the owner of everything it may name. */
import type { Route } from "../core/call.js";
import type { Client } from "../core/client.js";
import { isUriList, type ListKind } from "../core/lists.js";
import type { AppPageAccess } from "./app-page-access.js";
import type { Endpoint } from "./endpoints.js";
import type { LearnedUris } from "./learned-uris.js";
import { exposeUri } from "./merge.js";
import type { NameOwners } from "./name-owners.js";
import { exposedName, hashedName, type Naming } from "./naming.js";
import type { ServerNamespace } from "./server-namespace.js";
import type { Snapshot } from "./snapshot.js";
import { isWebAddress } from "./uri-namespace.js";
import { couldExpandTo } from "./uri-templates.js";

/** Whether a client may see something; what it may not see does not exist for it. */
export type VisibilityCheck = (client: Client, route: Route) => boolean;

/** What all views have in common. */
export interface ViewContext {
  readonly naming: Naming;
  readonly owners: NameOwners;
  readonly learnedUris: LearnedUris;
  readonly appPages: AppPageAccess;
  /** Whether the list that a server has for this client is known now. */
  readonly isKnown: (client: Client, server: string, kind: ListKind) => boolean;
  /** False for a server that has said it offers no resources. */
  readonly mayHaveResources: (server: string) => boolean;
}

/** What a view is made of. */
export interface ViewOptions {
  readonly client: Client;
  readonly endpoint: Endpoint;
  readonly lists: Readonly<Record<ListKind, Snapshot>>;
  readonly isVisible: VisibilityCheck | undefined;
  readonly context: ViewContext;
}

/** There is one for every session, so it is one object and no more. */
export class CatalogView {
  readonly endpoint: Endpoint;
  readonly #client: Client;
  readonly #lists: Readonly<Record<ListKind, Snapshot>>;
  readonly #isVisible: VisibilityCheck | undefined;
  readonly #context: ViewContext;

  constructor({ client, endpoint, lists, isVisible, context }: ViewOptions) {
    this.endpoint = endpoint;
    this.#client = client;
    this.#lists = lists;
    this.#isVisible = isVisible;
    this.#context = context;
  }

  list(kind: ListKind): Snapshot {
    return this.#lists[kind];
  }

  /**
   * Where `name` leads: an exposed name or URI, a URI that tells its server by its form, or a server's own name
   * (an app in a host's window knows no other) when exactly one server in the view has it, or one of which the
   * client has fetched a page.
   */
  find(kind: ListKind, name: string): Route | undefined {
    const found = this.#lists[kind].find(name);
    if (found !== undefined) return found;
    const isUri = isUriList(kind);
    // What several servers list under one address has no owner, whatever else it looks like.
    const routed = isUri && !this.#lists[kind].has(name) ? this.#byForm(kind, name) : undefined;
    if (routed !== undefined) return routed;
    const owner = this.#ownerOf(kind, name);
    // A name with the prefix of a server belongs to that server only, also while it is unavailable or lacks
    // the name.
    if (owner !== undefined) return onlyRouteTo(this.#lists[kind].ownersOf(name), owner);
    const own = this.#lists[kind].findOwn(name);
    if (own !== undefined || kind !== "tools") return own;
    return this.#context.appPages.resolveTool(this.#client.affinity, this.#lists.tools.ownersOf(name));
  }

  /**
   * Where the tool or prompt leads that `server` itself calls `own`, whether or not it is listed at this moment;
   * undefined when the view has no such server.
   */
  findOnServer(kind: "tools" | "prompts", server: string, own: string): Route | undefined {
    const space = this.endpoint.namespaces.find(({ name }) => name === server);
    if (space === undefined) return undefined;
    const listed = this.#lists[kind].ownersOf(own).find(({ upstream }) => upstream === server);
    if (listed !== undefined) return listed;
    const override = kind === "tools" ? space.overrides?.of(own) : undefined;
    const name = override?.name ?? own;
    const { naming, owners } = this.#context;
    const whole = exposedName((space.aggregate ?? space).prefix, name, naming);
    const isForeign = owners.isForeign(server, whole);
    const inWhole = isForeign ? hashedName((space.aggregate ?? space).prefix, name, naming, 1) : whole;
    const exposed = space.aggregate === undefined ? inWhole : exposedName(space.prefix, name, naming);
    return {
      ...{ upstream: server, target: own, exposed },
      ...(inWhole !== exposed && { aggregateName: inWhole }),
      ...(isForeign && { unambiguousName: owners.unambiguousName(server, inWhole) }),
      kind,
    };
  }

  /** Where the resource leads that `server` itself calls `own`; undefined where the client may not see it. */
  resourceOf(server: string, own: string): Route | undefined {
    const space = this.endpoint.namespaces.find(({ name }) => name === server);
    return space && this.#routeTo(space, "resources", own, exposeUri(space, own));
  }

  /** A server whose lists are not known now and that may have `name`; undefined when there is no such one. */
  unavailableOwner(kind: ListKind, name: string): string | undefined {
    const absent = this.endpoint.namespaces.filter(
      (space) => !this.#context.isKnown(this.#client, space.name, kind) && this.#couldShow(space, kind, name),
    );
    const owner = this.#ownerOf(kind, name);
    if (owner !== undefined) return absent.some((space) => space.name === owner) ? owner : undefined;
    const candidates = absent.filter(({ prefix }) => prefix === "");
    return candidates.length === 1 ? candidates[0]?.name : undefined;
  }

  /** Whether a URI that `server` shows leads back to it, as far as its prefix goes. */
  leadsTo(server: string, uri: string): boolean {
    const owner = this.#ownerOf("resources", uri);
    return owner === undefined || owner === server;
  }

  /** The server whose prefix `name` has; undefined in the view of a single server under its own names. */
  #ownerOf(kind: ListKind, name: string): string | undefined {
    if (this.endpoint.namespaces.some(({ aggregate }) => aggregate !== undefined)) return undefined;
    const { owners } = this.#context;
    return kind === "tools" || kind === "prompts" ? owners.ofName(name) : owners.ofUri(name);
  }

  #byForm(kind: ListKind, uri: string): Route | undefined {
    for (const space of this.endpoint.namespaces) {
      const own = space.uris?.reveal(uri);
      if (own !== undefined) return this.#routeTo(space, kind, own, uri);
    }
    if (this.#ownerOf(kind, uri) !== undefined) return undefined;
    const open = this.endpoint.namespaces.filter((space) => space.uris === undefined || isWebAddress(uri));
    return this.#soleOwner(open, kind, uri);
  }

  /** Of servers whose URIs look alike: who gave it, whose template makes it, or who alone could have it. */
  #soleOwner(open: readonly ServerNamespace[], kind: ListKind, uri: string): Route | undefined {
    const routes = open.flatMap((space) => this.#routeTo(space, kind, uri, uri) ?? []);
    if (routes.length <= 1) return routes[0];
    const given = this.#context.learnedUris.owners(this.#client.affinity, uri);
    const givers = routes.filter(({ upstream }) => given.includes(upstream));
    if (givers.length > 0) return givers.length === 1 ? givers[0] : undefined;
    const makers = new Set(
      this.#lists.resourceTemplates.entries
        .filter(({ route }) => couldExpandTo(route.target, uri))
        .map(({ route }) => route.upstream),
    );
    return makers.size === 1 ? routes.find(({ upstream }) => makers.has(upstream)) : undefined;
  }

  /** The route of a URI that stands in no list; filters count for it as if it did. */
  #routeTo(space: ServerNamespace, kind: ListKind, target: string, exposed: string): Route | undefined {
    if (!space.passes(kind, target) || !this.#context.mayHaveResources(space.name)) return undefined;
    if (this.endpoint.filter !== undefined && !this.endpoint.filter.passes(kind, exposed)) return undefined;
    const aggregateName = space.aggregate === undefined ? exposed : exposeUri(space.aggregate, target);
    const route: Route = {
      upstream: space.name,
      target,
      exposed,
      ...(aggregateName !== exposed && { aggregateName }),
      kind,
    };
    return this.#isVisible === undefined || this.#isVisible(this.#client, route) ? route : undefined;
  }

  /** A hidden target is unknown, and that its server is unavailable is not revealed. */
  #couldShow(space: ServerNamespace, kind: ListKind, name: string): boolean {
    const { aggregate = space } = space;
    const isName = kind === "tools" || kind === "prompts";
    const inWhole = isName
      ? exposedName(aggregate.prefix, name, this.#context.naming)
      : exposeUri(aggregate, name);
    const elsewhere = space === aggregate ? {} : { aggregateName: inWhole };
    const route: Route = { upstream: space.name, target: name, exposed: name, ...elsewhere, kind };
    return this.#isVisible === undefined || this.#isVisible(this.#client, route);
  }
}

/** The only one of `routes` that leads to `server`. */
function onlyRouteTo(routes: readonly Route[], server: string): Route | undefined {
  const [route, second] = routes.filter(({ upstream }) => upstream === server);
  return second === undefined ? route : undefined;
}
