/** How are the lists of all servers of a config merged, waited for, and handed over to the next config? */
import { type Freshness, mergedFreshness, type Route } from "../core/call.js";
import type { Client, Principal } from "../core/client.js";
import type { ServerDescription } from "../core/gateway-api.js";
import type { AwaitedTools, ExposedItem, IntroducedServer } from "../core/list-transform.js";
import type { ListKind } from "../core/lists.js";
import { SILENT } from "../core/logger.js";
import type { Target } from "../core/methods.js";
import { Stop, type StopSignal } from "../core/stop.js";
import { type ServerFacts, stateInUse } from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import type { Catalog, CatalogOptions, ServerStatus } from "./catalog.js";
import { CatalogWaits } from "./catalog-waits.js";
import { ChangeBus, type ChangeSource } from "./change-bus.js";
import { describeServers } from "./describe-servers.js";
import { endpointsOf } from "./endpoints.js";
import { HeldTargets } from "./held-targets.js";
import { introducedServer } from "./introduced-servers.js";
import { AppPageAccess, LearnedUris } from "./learned-routes.js";
import { NameOwners } from "./naming.js";
import { OwnResources } from "./own-resources.js";
import { RenamedEntries } from "./renamed-entries.js";
import { ServerLists } from "./server-lists.js";
import type { RefreshTimes } from "./server-lists-options.js";
import { type ServerNamespace, serverNamespace } from "./server-namespace.js";
import { ShownServers } from "./shown-servers.js";
import { type CatalogView, Snapshot } from "./view.js";
import { Views } from "./views.js";

const TIMES: RefreshTimes = {
  settleMs: 50,
  callWaitMs: 1_500,
  startupWaitMs: 10_000,
  listTimeoutMs: 15_000,
  graceMs: 60_000,
};

const RESOLVED = Promise.resolve();

/** What a catalog hands over to the next one. */
interface Inheritance {
  readonly servers: ReadonlyMap<string, ServerLists>;
  /** Its subscribers follow the catalog that is live. */
  readonly changes: ChangeBus;
  readonly learnedUris: LearnedUris;
  readonly appPages: AppPageAccess;
  readonly renamedEntries: RenamedEntries;
  /** The catalog that went live last; one object for all configs, so that no catalog refers to the next. */
  readonly live: { catalog: Catalog };
}

/** Starts to load lists in the background, until `close`. */
export class MergedCatalog implements Catalog {
  readonly changes: ChangeBus;
  readonly #options: Omit<CatalogOptions, "before">;
  readonly #servers = new Map<string, ServerLists>();
  readonly #views: Views;
  readonly #shown: ShownServers;
  readonly #held: HeldTargets;
  readonly #waits: CatalogWaits;
  readonly #inheritance: Inheritance;
  readonly #changeSource: ChangeSource;
  readonly #ownResources: OwnResources;
  readonly #closed = new Stop();
  /** Keyed by their entries, so that equal lists share text and version. */
  readonly #transformed = new WeakMap<readonly ExposedItem[], Snapshot>();

  /** The catalog before is read once and not held on to, or every config there ever was would stay in memory. */
  constructor({ before: earlier, ...options }: CatalogOptions) {
    this.#options = options;
    const { naming, profiles = {}, isVisible, mayShow, logger = SILENT, forms } = options;
    const times: RefreshTimes = {
      settleMs: options.settleMs ?? TIMES.settleMs,
      callWaitMs: options.callWaitMs ?? TIMES.callWaitMs,
      startupWaitMs: options.startupWaitMs ?? TIMES.startupWaitMs,
      listTimeoutMs: options.listTimeoutMs ?? TIMES.listTimeoutMs,
      graceMs: options.graceMs ?? TIMES.graceMs,
    };
    const before = earlier instanceof MergedCatalog ? earlier : undefined;
    const inherited: Partial<Inheritance> = before === undefined ? {} : before.#inheritance;
    const {
      learnedUris = new LearnedUris(),
      appPages = new AppPageAccess(),
      renamedEntries = new RenamedEntries(),
      live = { catalog: this },
    } = inherited;
    const servers = this.#servers;
    const spaces = options.servers.map((server) => serverNamespace(server, forms?.ofServer(server.name)));
    const endpoints = endpointsOf(spaces, profiles, forms);
    const views = new Views({
      ...{ endpoints, servers, naming, isVisible, learnedUris, appPages },
      owners: new NameOwners(spaces, naming.reserved ?? [], naming),
      onRenamed: (kind, renamed) => renamedEntries.warn(kind, renamed, logger),
    });
    this.#views = views;
    this.#shown = new ShownServers({ endpoints, servers, naming, isVisible, mayShow, views });
    this.#held = new HeldTargets(servers, isVisible);
    this.#waits = new CatalogWaits({
      ...{ servers, views, times, configured: options.servers, shown: this.#shown },
    });
    this.#ownResources = new OwnResources(options.lists?.resources ?? [], this);
    this.#changeSource = {
      view: (client) => views.of(client),
      listed: (client, kind) => this.listed(client, kind),
      merge: (client) => views.merge(client),
      servers,
      mayFollow: options.mayFollow,
      ownText: (client, uri) => this.#ownResources.text(client, uri),
      callWaitMs: times.callWaitMs,
    };
    this.changes = inherited.changes ?? new ChangeBus(this.#changeSource, logger);
    this.#inheritance = { servers, changes: this.changes, learnedUris, appPages, renamedEntries, live };
    for (const space of spaces) servers.set(space.name, this.#listsOf(space, times, before));
  }

  #listsOf(space: ServerNamespace, times: RefreshTimes, before: MergedCatalog | undefined): ServerLists {
    const { upstreams, logger = SILENT, onListChanged, kept, listHints, admission } = this.#options;
    const { name } = space;
    const upstream = upstreams.find((each) => each.name === name);
    if (upstream === undefined) throw new TypeError(`there is no upstream for server ${name}`);
    return new ServerLists({
      ...{ upstream, space, times, logger },
      onViewsChanged: () => {
        this.#views.expire();
        this.#waits.listsChanged();
        this.changes.listsChanged(this.#changeSource);
        this.changes.stateChanged(this.#changeSource);
      },
      onListChanged: (kind) => onListChanged?.(name, kind),
      before: before === undefined ? undefined : before.#servers.get(name),
      store: kept?.(name),
      hints: listHints?.(name),
      admission: admission?.(name),
      onStateChanged: () => this.changes.stateChanged(this.#changeSource),
      onOpened: () => this.changes.serverOpened(this.#changeSource, name),
      onResourceUpdated: (uri, scope) => this.changes.resourceUpdated(this.#changeSource, name, uri, scope),
    });
  }

  goLive(): void {
    this.#inheritance.live.catalog = this;
    this.changes.switchTo(this.#changeSource);
  }

  get closed(): StopSignal {
    return this.#closed.signal;
  }

  view(client: Client): CatalogView {
    return this.#views.of(client);
  }

  unfilteredView(client: Client): CatalogView {
    return this.#views.unfiltered(client);
  }

  heldRoute(client: Client, kind: ListKind, name: string): Route | undefined {
    return this.#held.find(client, this.#views.of(client), kind, name);
  }

  listed(client: Client, kind: ListKind): Snapshot {
    const { lists } = this.#options;
    const whole = this.#views.of(client).list(kind);
    if (lists === undefined) return whole;
    if (kind === "resources") return this.#ownResources.listed(client, whole);
    if (kind !== "tools") return whole;
    const entries = lists.entries(client, whole, this, whole.entries);
    if (entries === whole.entries) return whole;
    let list = this.#transformed.get(entries);
    if (list === undefined) {
      list = new Snapshot(kind, entries, lists.reach?.(client, whole));
      this.#transformed.set(entries, list);
    }
    return list;
  }

  toolsOf(client: Client): ReturnType<AwaitedTools["toolsOf"]> {
    return this.#views.toolsOf(client);
  }

  facts(server: string): ServerFacts | undefined {
    return this.#servers.get(server)?.facts;
  }

  freshness(client: Client, kind: ListKind): Freshness {
    const { isVisible, lists } = this.#options;
    const servers = this.#shown.of(client).flatMap(({ name }) => this.#servers.get(name) ?? []);
    const whole = mergedFreshness(servers.flatMap((server) => server.freshness(client, kind) ?? []));
    // A list that was filtered for one principal, or that depends on the host, is not shared.
    const isOwn = isVisible !== undefined || (kind === "tools" && lists?.isPerHost(client.endpoint) === true);
    return isOwn ? { ...whole, scope: "private" } : whole;
  }

  prepare(client: Client, sought?: readonly Target[], signal?: StopSignal): Promise<void> {
    return this.#waits.prepare(client, sought, signal);
  }

  unlistedOwner(client: Client, kind: ListKind, name: string): string | undefined {
    return this.#waits.unlistedOwner(client, kind, name);
  }

  prepareLists(client: Client, signal: StopSignal): Promise<void> {
    return this.#waits.forLists(client, signal)?.then(() => this.#prepareLatest(client, signal)) ?? RESOLVED;
  }

  /** A replaced config is not the one whose servers the host will call. */
  async #prepareLatest(client: Client, signal: StopSignal): Promise<void> {
    const { latest } = this;
    if (latest !== this) await latest.prepareLists(client, signal);
  }

  stopWaiting(): void {
    this.#waits.stop();
  }

  get latest(): Catalog {
    return this.#closed.aborted ? this.#inheritance.live.catalog : this;
  }

  starting(): readonly string[] {
    return [...this.#servers.values()].flatMap(({ name, isStarting }) => (isStarting ? [name] : []));
  }

  async whenLoaded(server: string, client: Client): Promise<void> {
    await this.#servers.get(server)?.whenLoaded(client);
  }

  async loadWhole(server: string, client: Client): Promise<boolean> {
    return (await this.#servers.get(server)?.loadWhole(client)) ?? false;
  }

  describe(client: Client): ServerDescription {
    const { lists, self, naming } = this.#options;
    const view = this.#views.of(client);
    const described = this.#shown.of(client).map((space) => this.#described(space, client, view));
    const tools = lists?.introduce(client, view.list("tools"), this);
    return describeServers(described, self, naming, tools, this.#ownResources.areShown(client));
  }

  serversFor(client: Client): readonly IntroducedServer[] {
    const { redact = (text) => text } = this.#options;
    return this.#shown.named(client).flatMap(({ name }) => {
      const server = this.#servers.get(name);
      return server === undefined ? [] : [introducedServer(server, client, redact)];
    });
  }

  isTransparent(client: Client): boolean {
    const [only, second] = this.#shown.of(client);
    return only?.prefix === "" && second === undefined;
  }

  #described(space: ServerNamespace, client: Client, view: CatalogView) {
    const server = this.#servers.get(space.name);
    return {
      space,
      facts: server?.factsFor(client),
      hasVisible: (kind: ListKind): boolean => {
        const offered = server?.unfilteredCount(client, kind);
        if (offered === undefined || offered === 0) return true;
        return view.list(kind).entries.some(({ route }) => route.upstream === space.name);
      },
    };
  }

  ownTool(client: Client, name: string): JsonObject | undefined {
    return this.#options.lists?.ownTool(client, name);
  }

  toolEntry(client: Client, name: string): JsonObject | undefined {
    const own = this.ownTool(client, name);
    if (own !== undefined) return own;
    const route = this.#views.of(client).find("tools", name);
    return route?.overriddenItem ?? route?.item;
  }

  serversOf(client: Client): readonly string[] {
    return this.#shown.at(client).map(({ name }) => name);
  }

  capabilities(server: string, client: Client): JsonObject | undefined {
    return this.#servers.get(server)?.factsFor(client)?.capabilities;
  }

  learnUri(client: Client, uri: string, server: string): void {
    this.#inheritance.learnedUris.learn(client.affinity, uri, server);
  }

  recordAppPage(client: Client, server: string): void {
    this.#inheritance.appPages.record(client.affinity, server);
  }

  hasEndpoint(name: string, principal: Principal): boolean {
    return this.#shown.hasEndpoint(name, principal);
  }

  isServerVisible(client: Client, server: string): boolean {
    return this.#shown.of(client).some(({ name }) => name === server);
  }

  wantsSignIn(client: Client, server: string): boolean {
    return this.#servers.get(server)?.wantsSignIn(client) === true;
  }

  reachable(client: Client, method: string): readonly string[] {
    return this.#shown.reachable(client, method);
  }

  releaseClient(affinity: string): void {
    for (const server of this.#servers.values()) server.releaseClient(affinity);
    this.#views.releaseClient(affinity);
  }

  ownEntries(server: string): ReturnType<Catalog["ownEntries"]> {
    return this.#servers.get(server)?.ownEntries;
  }

  ownLists(server: string, kind: ListKind): ReturnType<Catalog["ownLists"]> {
    return this.#servers.get(server)?.ownLists(kind) ?? [];
  }

  status(): readonly ServerStatus[] {
    return [...this.#servers.values()].map((server) => ({
      name: server.name,
      state: stateInUse(server.upstream),
      lastError: server.upstream.lastError ?? server.listError,
      serverInfo: server.facts?.serverInfo,
      ...server.status(),
    }));
  }

  close(): void {
    this.changes.close(this.#changeSource);
    this.#options.lists?.close();
    for (const server of this.#servers.values()) server.close();
    this.#closed.abort();
  }
}
