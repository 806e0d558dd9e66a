/** Which servers does a client see, and by which prefix are the names of each known? */
import { methodRoute, type Route, type RouteKind } from "../core/call.js";
import type { Client, Principal } from "../core/client.js";
import { LIST_KINDS, type ListKind } from "../core/lists.js";
import type { Target } from "../core/methods.js";
import { principalKey } from "../core/principal.js";
import { writeJson } from "../wire/json-text.js";
import type { Endpoint } from "./endpoints.js";
import { offersList } from "./list-capabilities.js";
import { exposedPrefix, exposeUri, type Naming } from "./naming.js";
import type { ServerLists } from "./server-lists.js";
import type { ServerNamespace } from "./server-namespace.js";
import type { CatalogView, VisibilityCheck } from "./view.js";
import type { Views } from "./views.js";

/** What decides. */
export interface ShownServersSettings {
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  readonly servers: ReadonlyMap<string, ServerLists>;
  readonly naming: Naming;
  readonly isVisible: VisibilityCheck | undefined;
  /** See `CatalogOptions`. */
  readonly mayShow: VisibilityCheck | undefined;
  readonly views: Views;
}

/** The servers of one config. */
export class ShownServers {
  readonly #settings: ShownServersSettings;
  readonly #prefixRoutes = new Map<ServerNamespace, Readonly<Record<RouteKind, Route>>>();

  constructor(settings: ShownServersSettings) {
    this.#settings = settings;
  }

  /** Those at the endpoint of `client`, including those that rules hide from it. */
  at({ endpoint }: Pick<Client, "endpoint">): readonly ServerNamespace[] {
    return this.#settings.endpoints.get(endpoint)?.namespaces ?? [];
  }

  /** Those of which rules leave something to `client`. */
  of(client: Client): readonly ServerNamespace[] {
    const spaces = this.at(client);
    const { isVisible, views } = this.#settings;
    if (isVisible === undefined) return spaces;
    return spaces.filter((space) => this.#isShown(client, space, () => views.of(client)));
  }

  /**
   * Those that the gateway may speak of to `client` itself: of a server whose lists are not known, the filters of a profile must
   * let some tool through.
   */
  named(client: Client): readonly ServerNamespace[] {
    const { endpoints, naming, servers, views } = this.#settings;
    const filter = endpoints.get(client.endpoint)?.filter;
    const spaces = this.of(client);
    if (filter === undefined) return spaces;
    const isListed = (server: string): boolean =>
      LIST_KINDS.some((kind) =>
        views
          .of(client)
          .list(kind)
          .entries.some(({ route }) => route.upstream === server),
      );
    const hasListed = (server: string): boolean => servers.get(server)?.knows(client, "tools") === true;
    return spaces.filter(({ name, prefix }) =>
      hasListed(name) ? isListed(name) : filter.canPass(exposedPrefix(prefix, naming)) || isListed(name),
    );
  }

  /** The same, of which rules do not hide this method, in the order of the config. */
  reachable(client: Client, method: string): readonly string[] {
    const { isVisible } = this.#settings;
    return this.of(client).flatMap(({ name }) =>
      isVisible === undefined || isVisible(client, methodRoute(name, method)) ? [name] : [],
    );
  }

  /** Whether an endpoint exists for this principal; one of which rules hide every server does not. */
  hasEndpoint(name: string, principal: Principal): boolean {
    const { endpoints, isVisible, views } = this.#settings;
    const endpoint = endpoints.get(name);
    if (endpoint === undefined || isVisible === undefined || name === "") return endpoint !== undefined;
    const client = unknownClient(principal, name);
    let view: CatalogView | undefined;
    const once = (): CatalogView => {
      view ??= views.uncached(client);
      return view;
    };
    const { namespaces } = endpoint;
    return namespaces.length === 0 || namespaces.some((space) => this.#isShown(client, space, once));
  }

  /** The prefix of the exposed names, or URIs, of a server. */
  prefixOf(space: ServerNamespace, kind: ListKind): string {
    const isName = kind === "tools" || kind === "prompts";
    return isName ? exposedPrefix(space.prefix, this.#settings.naming) : exposeUri(space, "");
  }

  /** Whether a target has the prefix of this server, which is not empty. */
  hasPrefixOf(space: ServerNamespace, { kind, name }: Target): boolean {
    const prefix = this.prefixOf(space, kind);
    return prefix !== "" && name.startsWith(prefix);
  }

  /**
   * Whether rules leave anything of a server to `client`; for a server with empty lists, its methods. Its description,
   * existence and path are hidden with its targets.
   */
  #isShown(client: Client, space: ServerNamespace, view: () => CatalogView): boolean {
    const { isVisible, mayShow, servers } = this.#settings;
    if (isVisible === undefined) return true;
    const { name } = space;
    const server = servers.get(name);
    const { methods, ...lists } = this.#routesOf(space);
    const kinds = LIST_KINDS.filter((kind) => offersList(server?.factsFor(client), kind));
    if (isVisible(client, methods) && kinds.length === 0) return true;
    if (!isVisible(client, methods) && mayShow?.(client, methods) === true) return true;
    const isListed = (kind: ListKind): boolean =>
      view()
        .list(kind)
        .entries.some(({ route }) => route.upstream === name);
    // Something of a list that is not known yet can be visible where its other entries are not.
    const mayBeListed = (kind: ListKind): boolean =>
      server?.knows(client, kind) !== true && mayShow?.(client, lists[kind]) === true;
    return kinds.some((kind) => isVisible(client, lists[kind]) || mayBeListed(kind)) || kinds.some(isListed);
  }

  /** The wildcard targets of a server and its methods: the same objects each time. */
  #routesOf(space: ServerNamespace): Readonly<Record<RouteKind, Route>> {
    const { name, aggregate = space } = space;
    let routes = this.#prefixRoutes.get(space);
    if (routes === undefined) {
      const start = (kind: ListKind): Route => ({
        upstream: name,
        target: "",
        exposed: this.prefixOf(aggregate, kind),
        kind,
      });
      routes = {
        tools: start("tools"),
        prompts: start("prompts"),
        resources: start("resources"),
        resourceTemplates: start("resourceTemplates"),
        methods: methodRoute(name, ""),
      };
      this.#prefixRoutes.set(space, routes);
    }
    return routes;
  }
}

/** A client without attributes that rules distinguish. */
const unknownClient = (principal: Principal, endpoint: string): Client => ({
  principal,
  affinity: writeJson([principalKey(principal), "at", endpoint]),
  session: false,
  endpoint,
  capabilities: {},
});
