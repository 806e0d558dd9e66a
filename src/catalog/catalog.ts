/** What all servers list, as each client sees it: kept current, told when it changes, never fetched on a call. */
import type { Freshness, Route, RouteKind } from "../core/call.js";
import type { ChangeFeed } from "../core/change.js";
import type { Client, Principal } from "../core/client.js";
import type { Introduction } from "../core/gateway-port.js";
import { type Logger, SILENT } from "../core/logger.js";
import { methodRoute, type Target } from "../core/methods.js";
import { LIST_KINDS, type ListKind, type Upstream, type UpstreamState } from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import { Changes } from "./changes.js";
import { merged } from "./freshness.js";
import { introduction } from "./introduction.js";
import { LearnedUris } from "./learned-uris.js";
import { exposeUri } from "./merge.js";
import { NameOwners } from "./name-owners.js";
import { exposedStart, type Naming } from "./naming.js";
import { offers } from "./offered-lists.js";
import { type CatalogProfile, scopesOf } from "./scopes.js";
import { type RefreshTimes, ServerLists, type ServerListsStatus } from "./server-lists.js";
import { type CatalogServer, type ServerSpace, serverSpace } from "./server-space.js";
import { ShownPages } from "./shown-pages.js";
import type { CatalogView, Visible } from "./view.js";
import { Views } from "./views.js";

export interface CatalogOptions extends Partial<RefreshTimes> {
  readonly upstreams: readonly Upstream[];
  /** In the order of the config, which is the order of the lists; each upstream by its name. */
  readonly servers: readonly CatalogServer[];
  readonly naming: Naming;
  readonly profiles?: Readonly<Record<string, CatalogProfile>>;
  /** The gateway's own name and version. */
  readonly self: JsonObject;
  /** What it says no to does not exist for that client. Default: everything is visible to everybody. */
  readonly visible?: Visible;
  /** The updates of what it says no to are told to nobody. Default: whatever is visible may be followed. */
  readonly mayFollow?: Visible;
  readonly logger?: Logger;
  /** The catalog of an earlier config: what it knows of the very same upstreams is taken over. It is not closed. */
  readonly before?: Catalog;
  /** A server's list really differs from what was known of it; told once, however many audiences hear it. */
  readonly onListChanged?: (server: string, list: ListKind) => void;
}

interface ServerStatus extends ServerListsStatus {
  readonly name: string;
  readonly state: UpstreamState;
  readonly lastError: string | undefined;
  readonly serverInfo: JsonObject | undefined;
}

export interface Catalog {
  readonly changes: ChangeFeed;
  /** What `client` sees now; never waits. */
  view(client: Client): CatalogView;
  /** What `client` would see now if no rule hid anything from it. */
  unhidden(client: Client): CatalogView;
  /** How long `client` may keep a list. */
  freshness(client: Client, kind: ListKind): Freshness;
  /**
   * Waits, bounded by `startupWaitMs`, for what would make the view of `client` truer: servers that are starting,
   * and the first lists of its class. With `sought`, targets that the view does not have, also those that are away and
   * may have them, as far as they can be hurried. Never rejects.
   */
  prepare(client: Client, sought?: readonly Target[]): Promise<void>;
  /** What the gateway says of itself to `client`, by what is known now. */
  introduce(client: Client): Introduction;
  /** The list entry of a tool by a name that `client` may use. */
  tool(client: Client, name: string): JsonObject | undefined;
  /** What a server last said to clients like `client` that it can do; undefined while it was never met. */
  capabilities(server: string, client: Client): JsonObject | undefined;
  /** Remembers that `server` gave `client` an address that does not tell by its form whose it is. */
  learn(client: Client, uri: string, server: string): void;
  /** Remembers that `client` has fetched a page of `server`, on which an app may run. */
  showed(client: Client, server: string): void;
  /** Whether a scope exists for this principal; one of which rules hide every server does not. */
  hasScope(name: string, principal: Principal): boolean;
  /** Whether rules leave anything of a server to `client`. */
  shows(client: Client, server: string): boolean;
  /** The servers in the view of `client`, those that rules hide from it among them. */
  serversOf(client: Client): readonly string[];
  /** The servers in the view of `client` that rules hide neither from it nor for this method, in the order of the config. */
  reachable(client: Client, method: string): readonly string[];
  /** A session is over: what was kept for its affinity alone goes. */
  forget(affinity: string): void;
  status(): readonly ServerStatus[];
  close(): void;
}

const TIMES: RefreshTimes = {
  settleMs: 50,
  startupWaitMs: 1_500,
  listTimeoutMs: 15_000,
  graceMs: 60_000,
};

/** What a catalog hands on to the next one. */
interface Estate {
  readonly servers: ReadonlyMap<string, ServerLists>;
  readonly learned: LearnedUris;
  readonly pages: ShownPages;
}
const estates = new WeakMap<Catalog, Estate>();

const READY = Promise.resolve();

export function createCatalog(options: CatalogOptions): Catalog {
  const { upstreams, naming, profiles = {}, self, visible, logger = SILENT, onListChanged } = options;
  const times: RefreshTimes = {
    settleMs: options.settleMs ?? TIMES.settleMs,
    startupWaitMs: options.startupWaitMs ?? TIMES.startupWaitMs,
    listTimeoutMs: options.listTimeoutMs ?? TIMES.listTimeoutMs,
    graceMs: options.graceMs ?? TIMES.graceMs,
  };
  const servers = new Map<string, ServerLists>();
  const spaces = options.servers.map(serverSpace);
  const scopes = scopesOf(spaces, profiles);
  const before = options.before === undefined ? undefined : estates.get(options.before);
  const learned = before?.learned ?? new LearnedUris();
  const pages = before?.pages ?? new ShownPages();
  const starts = new Map<ServerSpace, Readonly<Record<RouteKind, Route>>>();
  const owners = new NameOwners(spaces, naming.reserved ?? [], naming);
  const views = new Views({ scopes, servers, naming, owners, visible, learned, pages });
  const changes = new Changes({
    view: (client) => views.of(client),
    servers,
    mayFollow: options.mayFollow,
    startupWaitMs: times.startupWaitMs,
    logger,
  });

  for (const space of spaces) {
    const upstream = upstreams.find(({ name }) => name === space.name);
    if (upstream === undefined) throw new TypeError(`there is no upstream for server ${space.name}`);
    servers.set(
      space.name,
      new ServerLists({
        upstream,
        space,
        times,
        logger,
        changed: () => {
          views.expire();
          changes.listsChanged();
        },
        listChanged: (kind) => onListChanged?.(space.name, kind),
        before: before?.servers.get(space.name),
        opened: () => changes.serverOpened(space.name),
        resourceUpdated: (uri, audience) => changes.resourceUpdated(space.name, uri, audience),
      }),
    );
  }

  const shownLists = (client: Client): readonly ServerLists[] =>
    shownServers(client).flatMap(({ name }) => servers.get(name) ?? []);

  /** What the exposed names, or URIs, of a server begin with. */
  function startOf(space: ServerSpace, kind: ListKind): string {
    const isName = kind === "tools" || kind === "prompts";
    return isName ? exposedStart(space.prefix, naming) : exposeUri(space, "");
  }

  /**
   * Whether rules leave anything of a server to `client`; of one that lists nothing, its methods. What a server says of
   * itself, that it is there, and its path are hidden with all that it has.
   */
  function isShown(client: Client, space: ServerSpace, view: () => CatalogView): boolean {
    if (visible === undefined) return true;
    const { name } = space;
    const { methods, ...lists } = startsOf(space);
    const kinds = LIST_KINDS.filter((kind) => offers(servers.get(name)?.factsFor(client), kind));
    if (kinds.length === 0) return visible(client, methods);
    return (
      kinds.some((kind) => visible(client, lists[kind])) ||
      kinds.some((kind) =>
        view()
          .list(kind)
          .entries.some(({ route }) => route.upstream === name),
      )
    );
  }

  /** What stands for all names and URIs of a server, and for all its methods: the same objects each time. */
  function startsOf(space: ServerSpace): Readonly<Record<RouteKind, Route>> {
    const { name, whole = space } = space;
    let routes = starts.get(space);
    if (routes === undefined) {
      const start = (kind: ListKind): Route => ({
        upstream: name,
        target: "",
        exposed: startOf(whole, kind),
        kind,
      });
      routes = {
        tools: start("tools"),
        prompts: start("prompts"),
        resources: start("resources"),
        resourceTemplates: start("resourceTemplates"),
        methods: methodRoute(name, ""),
      };
      starts.set(space, routes);
    }
    return routes;
  }

  function shownServers(client: Client): readonly ServerSpace[] {
    const spaces = scopes.get(client.scope)?.spaces ?? [];
    if (visible === undefined) return spaces;
    return spaces.filter((space) => isShown(client, space, () => views.of(client)));
  }

  /** Somebody who was not heard yet, as far as rules can tell one from another. */
  const stranger = (principal: Principal, scope: string): Client => ({
    principal,
    affinity: `${principal.id} at ${scope}`,
    session: false,
    scope,
    capabilities: {},
  });

  const catalog: Catalog = {
    changes,
    view: (client) => views.of(client),
    unhidden: (client) => views.unhidden(client),
    freshness(client, kind) {
      const parts = shownLists(client).flatMap((server) => server.freshness(client, kind) ?? []);
      const whole = merged(parts);
      // A list from which something may have been taken for one principal is nobody else's.
      return visible === undefined ? whole : { ...whole, scope: "private" };
    },
    prepare(client, sought = []) {
      // Nobody is met, or waited for, on behalf of those from whom it is hidden.
      const waits = shownServers(client).flatMap((space) => {
        const server = servers.get(space.name);
        const mayHave = (target: Target): boolean => target.name.startsWith(startOf(space, target.kind));
        const hurried = sought.some(mayHave) ? server?.seek(client) : undefined;
        return [server?.prepare(client), hurried].filter((wait) => wait !== undefined);
      });
      return waits.length === 0 ? READY : Promise.all(waits).then(() => {});
    },
    introduce(client) {
      const view = views.of(client);
      const introduced = shownServers(client).map((space) => {
        const server = servers.get(space.name);
        return {
          space,
          facts: server?.factsFor(client),
          shows: (kind: ListKind) => {
            const offered = server?.offered(client, kind);
            if (offered === undefined || offered === 0) return true;
            return view.list(kind).entries.some(({ route }) => route.upstream === space.name);
          },
        };
      });
      return introduction(introduced, self, naming);
    },
    tool(client, name) {
      const route = views.of(client).find("tools", name);
      return route?.shown ?? route?.item;
    },
    serversOf: (client) => (scopes.get(client.scope)?.spaces ?? []).map(({ name }) => name),
    capabilities: (server, client) => servers.get(server)?.factsFor(client)?.capabilities,
    learn: (client, uri, server) => learned.learn(client.affinity, uri, server),
    showed: (client, server) => pages.show(client.affinity, server),
    hasScope(name, principal) {
      const scope = scopes.get(name);
      if (scope === undefined || visible === undefined || name === "") return scope !== undefined;
      const client = stranger(principal, name);
      let view: CatalogView | undefined;
      const once = (): CatalogView => {
        view ??= views.once(client);
        return view;
      };
      return scope.spaces.length === 0 || scope.spaces.some((space) => isShown(client, space, once));
    },
    shows: (client, server) => shownServers(client).some(({ name }) => name === server),
    reachable(client, method) {
      return shownServers(client).flatMap(({ name }) =>
        visible === undefined || visible(client, methodRoute(name, method)) ? [name] : [],
      );
    },
    forget(affinity) {
      for (const server of servers.values()) server.forget(affinity);
      views.forget(affinity);
    },
    status: () =>
      [...servers.values()].map((server) => ({
        name: server.name,
        state: server.upstream.state,
        lastError: server.upstream.lastError,
        serverInfo: server.facts?.serverInfo,
        ...server.status(),
      })),
    close() {
      changes.close();
      for (const server of servers.values()) server.close();
    },
  };
  estates.set(catalog, { servers, learned, pages });
  return catalog;
}
