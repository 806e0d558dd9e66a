/**
 * The lists of all servers, as each client sees them: kept current, announced on change, never fetched during a call.
 */

import { type Freshness, mergedFreshness, methodRoute, type Route, type RouteKind } from "../core/call.js";
import type { Client, Principal } from "../core/client.js";
import type { ChangeFeed, ServerDescription } from "../core/gateway-api.js";
import type { AwaitedTools, ExposedItem, ListTransform } from "../core/list-transform.js";
import { LIST_KINDS, type ListKind } from "../core/lists.js";
import { type Logger, SILENT } from "../core/logger.js";
import type { Target } from "../core/methods.js";
import type { ListStore } from "../core/persisted-lists.js";
import { principalKey } from "../core/principal.js";
import { Stop, type StopSignal } from "../core/stop.js";
import type { ToolForms } from "../core/tool-forms.js";
import { stateInUse, type Upstream, type UpstreamState } from "../core/upstream.js";
import { runSteps } from "../runtime/cooperative-yield.js";
import type { JsonObject } from "../wire/json.js";
import { writeJson } from "../wire/json-text.js";
import { ChangeNotifier } from "./change-notifier.js";
import { describeServers } from "./describe-servers.js";
import { type CatalogProfile, endpointsOf } from "./endpoints.js";
import { StartupWaits } from "./first-start.js";
import { AppPageAccess, LearnedUris } from "./learned-routes.js";
import { offersList } from "./list-capabilities.js";
import type { Renamed } from "./merge.js";
import { exposedPrefix, exposeUri, NameOwners, type Naming } from "./naming.js";
import { RenamedEntries } from "./renamed-entries.js";
import { ServerLists } from "./server-lists.js";
import type { ListHints, RefreshTimes, ServerListsStatus, WaitLimit } from "./server-lists-options.js";
import { type CatalogServer, type ServerNamespace, serverNamespace } from "./server-namespace.js";
import { SoughtTargets } from "./sought-targets.js";
import { type CatalogView, Snapshot, type VisibilityCheck } from "./view.js";
import { Views } from "./views.js";

/** Dependencies of the catalog. */
export interface CatalogOptions extends Partial<RefreshTimes> {
  readonly upstreams: readonly Upstream[];
  /** In config order, which is the list order; each upstream by its name. */
  readonly servers: readonly CatalogServer[];
  readonly naming: Naming;
  readonly profiles?: Readonly<Record<string, CatalogProfile>>;
  /** What a feature makes of the lists of tools. Default: nothing. */
  readonly lists?: ListTransform | undefined;
  /** In which form a feature shows the definitions of tools. Default: that of the servers. */
  readonly forms?: ToolForms | undefined;
  /** The gateway's own name and version. */
  readonly self: JsonObject;
  /** A target for which it returns false does not exist for that client. Default: everything is visible. */
  readonly isVisible?: VisibilityCheck;
  /** A resource for which it returns false cannot be followed. Default: every visible resource can. */
  readonly mayFollow?: VisibilityCheck;
  readonly logger?: Logger;
  /** The catalog of an earlier config: its lists of unchanged upstreams are inherited. It is not closed. */
  readonly before?: Catalog;
  /** Called once per real change of a server's list, whatever the number of list scopes that see it. */
  readonly onListChanged?: (server: string, list: ListKind) => void;
  /** Caches the lists of a server for the next run. Default: no cache. */
  readonly kept?: (server: string) => ListStore | undefined;
  /** List changes reported by other replicas. Default: none. */
  readonly listHints?: (server: string) => ListHints | undefined;
}

interface ServerStatus extends ServerListsStatus {
  readonly name: string;
  readonly state: UpstreamState;
  readonly lastError: string | undefined;
  readonly serverInfo: JsonObject | undefined;
}

/** The merged lists of all servers of one config. */
export interface Catalog extends AwaitedTools {
  readonly changes: ChangeFeed;
  /** The current view of `client`; never waits. */
  view(client: Client): CatalogView;
  /** The view of `client` without hiding rules. */
  unfilteredView(client: Client): CatalogView;
  /** The response to a list request of `client`; it may have fewer tools than `view`. */
  listed(client: Client, kind: ListKind): Snapshot;
  /** How long `client` may keep a list. */
  freshness(client: Client, kind: ListKind): Freshness;
  /**
   * Waits, bounded by `callWaitMs`, for lists that would change the view of `client`: of starting servers, and the
   * first lists of its class. With `sought`, targets missing from the view, it waits for servers that may have them as long
   * as a list does, until `stopWaiting`, and for disconnected ones, if they can be reconnected now. Ends when the view has one
   * of them, and when `signal` aborts. Never rejects.
   */
  prepare(client: Client, sought?: readonly Target[], signal?: StopSignal): Promise<void>;
  /**
   * A server that may have `name`, as what it lists for `client` is not known: it is not connected, or has not listed yet.
   * Undefined if there is none.
   */
  unlistedOwner(client: Client, kind: ListKind, name: string): string | undefined;
  /**
   * Like `prepare`, for a list of `client`, which its host may cache: waits for each starting server up to
   * `startupWaitMs`, for a `required` one up to its `connectTimeoutMs`. Ends when `signal` aborts and at `stopWaiting`.
   */
  prepareLists(client: Client, signal: StopSignal): Promise<void>;
  /** Pending lists, and calls for a starting server, are answered with the available lists; later ones do not wait. */
  stopWaiting(): void;
  /** The live catalog: this one, or after `close` its successor. */
  readonly latest: Catalog;
  /** The entry of a tool of the gateway itself that `client` may call by this name. */
  ownTool(client: Client, name: string): JsonObject | undefined;
  /** Starting servers without cached lists, in config order. */
  starting(): readonly string[];
  /** Resolves when the first start of a server is over and it has listed for `client`, or has failed. Never rejects. */
  whenLoaded(server: string, client: Client): Promise<void>;
  /** The server description for `client`, from the available lists. */
  describe(client: Client): ServerDescription;
  /** The list entry of a tool by a name that `client` may use. */
  toolEntry(client: Client, name: string): JsonObject | undefined;
  /** The capabilities that a server last returned to clients like `client`; undefined before its first connection. */
  capabilities(server: string, client: Client): JsonObject | undefined;
  /** Records that `server` returned an ambiguous URI to `client`. */
  learnUri(client: Client, uri: string, server: string): void;
  /** Records that `client` has fetched a page of `server`, on which an app may run. */
  recordAppPage(client: Client, server: string): void;
  /** Whether a scope exists for this principal; one of which rules hide every server does not. */
  hasEndpoint(name: string, principal: Principal): boolean;
  /** Whether rules leave anything of a server to `client`. */
  isServerVisible(client: Client, server: string): boolean;
  /** Whether a server lists nothing for `client` until its principal has signed in. */
  wantsSignIn(client: Client, server: string): boolean;
  /** The servers in the view of `client`, including those that rules hide from it. */
  serversOf(client: Client): readonly string[];
  /** The servers in the view of `client` that rules hide neither from it nor for this method, in the order of the config. */
  reachable(client: Client, method: string): readonly string[];
  /** A session has ended: the state of its affinity is dropped. */
  releaseClient(affinity: string): void;
  status(): readonly ServerStatus[];
  /** Aborts at `close`. */
  readonly closed: StopSignal;
  close(): void;
}

const TIMES: RefreshTimes = {
  settleMs: 50,
  callWaitMs: 1_500,
  startupWaitMs: 10_000,
  listTimeoutMs: 15_000,
  graceMs: 60_000,
};

/** The state that a catalog hands over to the next one. */
interface CatalogState {
  /** The successor of a closed catalog. */
  successor?: Catalog;
  readonly servers: ReadonlyMap<string, ServerLists>;
  readonly learnedUris: LearnedUris;
  readonly appPages: AppPageAccess;
  readonly renamedEntries: RenamedEntries;
}
const catalogStates = new WeakMap<Catalog, CatalogState>();

const RESOLVED = Promise.resolve();

/** Starts to load lists in the background, until `close`. */
export function createCatalog(options: CatalogOptions): Catalog {
  const {
    upstreams,
    naming,
    profiles = {},
    self,
    isVisible,
    logger = SILENT,
    onListChanged,
    lists,
    forms,
  } = options;
  const times: RefreshTimes = {
    settleMs: options.settleMs ?? TIMES.settleMs,
    callWaitMs: options.callWaitMs ?? TIMES.callWaitMs,
    startupWaitMs: options.startupWaitMs ?? TIMES.startupWaitMs,
    listTimeoutMs: options.listTimeoutMs ?? TIMES.listTimeoutMs,
    graceMs: options.graceMs ?? TIMES.graceMs,
  };
  const servers = new Map<string, ServerLists>();
  const spaces = options.servers.map((server) => serverNamespace(server, forms?.ofServer(server.name)));
  const endpoints = endpointsOf(spaces, profiles, forms);
  const before = options.before === undefined ? undefined : catalogStates.get(options.before);
  const learnedUris = before?.learnedUris ?? new LearnedUris();
  const appPages = before?.appPages ?? new AppPageAccess();
  const renamedEntries = before?.renamedEntries ?? new RenamedEntries();
  const state: CatalogState = { servers, learnedUris, appPages, renamedEntries };
  /** How long a list waits for each server, in milliseconds. */
  const listWaitMs = new Map(
    options.servers.map(({ name, required, connectTimeoutMs = 0 }) => [
      name,
      required === true ? Math.max(times.startupWaitMs, connectTimeoutMs) : times.startupWaitMs,
    ]),
  );
  const startupWaits = new StartupWaits();
  const soughtTargets = new SoughtTargets();
  const closed = new Stop();
  const starts = new Map<ServerNamespace, Readonly<Record<RouteKind, Route>>>();
  const owners = new NameOwners(spaces, naming.reserved ?? [], naming);
  const onRenamed = (kind: ListKind, renamed: Renamed): void => renamedEntries.warn(kind, renamed, logger);
  const views = new Views({
    endpoints,
    servers,
    naming,
    owners,
    isVisible,
    learnedUris,
    appPages,
    onRenamed,
  });
  /** Keyed by their entries, so that equal lists share text and version. */
  const transformed = new WeakMap<readonly ExposedItem[], Snapshot>();
  const listed = (client: Client, kind: ListKind): Snapshot => {
    const whole = views.of(client).list(kind);
    if (kind !== "tools" || lists === undefined) return whole;
    const entries = lists.entries(client, whole, catalog);
    if (entries === whole.entries) return whole;
    let list = transformed.get(entries);
    if (list === undefined) {
      list = new Snapshot(kind, entries);
      transformed.set(entries, list);
    }
    return list;
  };
  const changes = new ChangeNotifier({
    view: (client) => views.of(client),
    listed,
    merge: (client) => views.merge(client),
    servers,
    mayFollow: options.mayFollow,
    callWaitMs: times.callWaitMs,
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
        onViewsChanged: () => {
          views.expire();
          soughtTargets.listsChanged();
          changes.listsChanged();
        },
        onListChanged: (kind) => onListChanged?.(space.name, kind),
        before: before?.servers.get(space.name),
        store: options.kept?.(space.name),
        hints: options.listHints?.(space.name),
        onOpened: () => changes.serverOpened(space.name),
        onResourceUpdated: (uri, audience) => changes.resourceUpdated(space.name, uri, audience),
      }),
    );
  }

  const visibleLists = (client: Client): readonly ServerLists[] =>
    visibleServers(client).flatMap(({ name }) => servers.get(name) ?? []);

  /** The prefix of the exposed names, or URIs, of a server. */
  function exposedPrefixOf(space: ServerNamespace, kind: ListKind): string {
    const isName = kind === "tools" || kind === "prompts";
    return isName ? exposedPrefix(space.prefix, naming) : exposeUri(space, "");
  }

  /**
   * Whether rules leave anything of a server to `client`; for a server with empty lists, its methods. Its description,
   * existence and path are hidden with its targets.
   */
  function isServerShown(client: Client, space: ServerNamespace, view: () => CatalogView): boolean {
    if (isVisible === undefined) return true;
    const { name } = space;
    const { methods, ...lists } = prefixRoutes(space);
    const kinds = LIST_KINDS.filter((kind) => offersList(servers.get(name)?.factsFor(client), kind));
    if (kinds.length === 0) return isVisible(client, methods);
    return (
      kinds.some((kind) => isVisible(client, lists[kind])) ||
      kinds.some((kind) =>
        view()
          .list(kind)
          .entries.some(({ route }) => route.upstream === name),
      )
    );
  }

  /** The wildcard targets of a server and its methods: the same objects each time. */
  function prefixRoutes(space: ServerNamespace): Readonly<Record<RouteKind, Route>> {
    const { name, aggregate = space } = space;
    let routes = starts.get(space);
    if (routes === undefined) {
      const start = (kind: ListKind): Route => ({
        upstream: name,
        target: "",
        exposed: exposedPrefixOf(aggregate, kind),
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

  function visibleServers(client: Client): readonly ServerNamespace[] {
    const spaces = endpoints.get(client.endpoint)?.namespaces ?? [];
    if (isVisible === undefined) return spaces;
    return spaces.filter((space) => isServerShown(client, space, () => views.of(client)));
  }

  const hasPrefixOf = (space: ServerNamespace, { kind, name }: Target): boolean => {
    const prefix = exposedPrefixOf(space, kind);
    return prefix !== "" && name.startsWith(prefix);
  };

  /** What a call for `sought` waits for at one server. A name without the prefix of any server may be the own name of each. */
  function waitsForTargets(
    client: Client,
    space: ServerNamespace,
    { spaces, sought }: { readonly spaces: readonly ServerNamespace[]; readonly sought: readonly Target[] },
    signal: StopSignal,
  ): readonly Promise<void>[] {
    const server = servers.get(space.name);
    if (server === undefined) return [];
    const isNamed = sought.some(({ kind, name }) => name.startsWith(exposedPrefixOf(space, kind)));
    const mayHave = isNamed || sought.some((target) => !spaces.some((other) => hasPrefixOf(other, target)));
    const listed =
      mayHave && !startupWaits.isOver
        ? startupWaits.during(signal, async (end) => server.prepare(client, listWait(server, end)))
        : server.prepare(client, { ms: times.callWaitMs, signal });
    const connected = isNamed ? server.connectAndPrepare(client, signal) : undefined;
    return [listed, connected].filter((wait) => wait !== undefined);
  }

  const listWait = ({ name }: ServerLists, signal: StopSignal): WaitLimit => ({
    ms: listWaitMs.get(name) ?? times.startupWaitMs,
    signal,
  });

  async function waitForLists(
    client: Client,
    late: readonly ServerLists[],
    signal: StopSignal,
  ): Promise<void> {
    await startupWaits.during(signal, (end) =>
      Promise.all(late.flatMap((server) => server.prepare(client, listWait(server, end)) ?? [])),
    );
    // A replaced config is not the one whose servers the host will call.
    const { latest } = catalog;
    if (latest !== catalog) await latest.prepareLists(client, signal);
  }

  /** A client without attributes that rules distinguish. */
  const unknownClient = (principal: Principal, endpoint: string): Client => ({
    principal,
    affinity: writeJson([principalKey(principal), "at", endpoint]),
    session: false,
    endpoint,
    capabilities: {},
  });

  const catalog: Catalog = {
    changes,
    closed: closed.signal,
    view: (client) => views.of(client),
    unfilteredView: (client) => views.unfiltered(client),
    listed,
    toolsOf: (client) => views.toolsOf(client),
    facts: (server) => servers.get(server)?.facts,
    freshness(client, kind) {
      const parts = visibleLists(client).flatMap((server) => server.freshness(client, kind) ?? []);
      const whole = mergedFreshness(parts);
      // A list that was filtered for one principal, or that depends on the host, is not shared.
      const isOwn =
        isVisible !== undefined || (kind === "tools" && lists?.isPerHost(client.endpoint) === true);
      return isOwn ? { ...whole, scope: "private" } : whole;
    },
    prepare(client, sought = [], signal) {
      // A hidden server is neither connected nor awaited on behalf of this client.
      const spaces = visibleServers(client);
      if (sought.length === 0) {
        const waits = spaces.flatMap(({ name }) => servers.get(name)?.prepare(client) ?? []);
        return Promise.all(waits).then(() => runSteps(views.merge(client)));
      }
      const isFound = (): boolean =>
        sought.some(({ kind, name }) => views.of(client).find(kind, name) !== undefined);
      return soughtTargets.during(isFound, signal, (end) =>
        Promise.all(spaces.flatMap((space) => waitsForTargets(client, space, { spaces, sought }, end))),
      );
    },
    unlistedOwner(client, kind, name) {
      const owner = views.of(client).unavailableOwner(kind, name);
      if (owner !== undefined) return owner;
      const spaces = visibleServers(client);
      // A name with the prefix of a server is no own name of another one.
      if (spaces.some((space) => hasPrefixOf(space, { kind, name }))) return undefined;
      return spaces.find((space) => servers.get(space.name)?.isLoading(client, kind))?.name;
    },
    prepareLists(client, signal) {
      if (startupWaits.isOver) return RESOLVED;
      const late = visibleLists(client).filter((server) => !server.isPrepared(client));
      return late.length === 0 ? RESOLVED : waitForLists(client, late, signal);
    },
    stopWaiting: () => startupWaits.end(),
    get latest() {
      const successor = closed.aborted ? state.successor : undefined;
      return successor?.latest ?? catalog;
    },
    starting: () => [...servers.values()].flatMap(({ name, isStarting }) => (isStarting ? [name] : [])),
    whenLoaded: async (server, client) => servers.get(server)?.whenLoaded(client),
    describe(client) {
      const view = views.of(client);
      const tools = view.list("tools");
      const introduced = visibleServers(client).map((space) => {
        const server = servers.get(space.name);
        return {
          space,
          facts: server?.factsFor(client),
          hasVisible: (kind: ListKind) => {
            const offered = server?.unfilteredCount(client, kind);
            if (offered === undefined || offered === 0) return true;
            return view.list(kind).entries.some(({ route }) => route.upstream === space.name);
          },
          hasListed: server?.unfilteredCount(client, "tools") !== undefined,
        };
      });
      const ofTools = lists?.introduce(
        client,
        tools,
        introduced.map(({ space: { name }, facts, hasListed }) => ({ name, facts, hasListed })),
      );
      return describeServers(introduced, self, naming, ofTools);
    },
    ownTool: (client, name) => lists?.ownTool(client, name),
    toolEntry(client, name) {
      const own = lists?.ownTool(client, name);
      if (own !== undefined) return own;
      const route = views.of(client).find("tools", name);
      return route?.overriddenItem ?? route?.item;
    },
    serversOf: (client) => (endpoints.get(client.endpoint)?.namespaces ?? []).map(({ name }) => name),
    capabilities: (server, client) => servers.get(server)?.factsFor(client)?.capabilities,
    learnUri: (client, uri, server) => learnedUris.learn(client.affinity, uri, server),
    recordAppPage: (client, server) => appPages.record(client.affinity, server),
    hasEndpoint(name, principal) {
      const scope = endpoints.get(name);
      if (scope === undefined || isVisible === undefined || name === "") return scope !== undefined;
      const client = unknownClient(principal, name);
      let view: CatalogView | undefined;
      const once = (): CatalogView => {
        view ??= views.uncached(client);
        return view;
      };
      return (
        scope.namespaces.length === 0 || scope.namespaces.some((space) => isServerShown(client, space, once))
      );
    },
    isServerVisible: (client, server) => visibleServers(client).some(({ name }) => name === server),
    wantsSignIn: (client, server) => servers.get(server)?.wantsSignIn(client) === true,
    reachable(client, method) {
      return visibleServers(client).flatMap(({ name }) =>
        isVisible === undefined || isVisible(client, methodRoute(name, method)) ? [name] : [],
      );
    },
    releaseClient(affinity) {
      for (const server of servers.values()) server.releaseClient(affinity);
      views.releaseClient(affinity);
    },
    status: () =>
      [...servers.values()].map((server) => ({
        name: server.name,
        state: stateInUse(server.upstream),
        lastError: server.upstream.lastError ?? server.listError,
        serverInfo: server.facts?.serverInfo,
        ...server.status(),
      })),
    close() {
      changes.close();
      lists?.close();
      for (const server of servers.values()) server.close();
      closed.abort();
    },
  };
  if (before !== undefined) before.successor = catalog;
  catalogStates.set(catalog, state);
  return catalog;
}
