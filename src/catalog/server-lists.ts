/** The lists of one server as each client sees them, kept current and never asked for while a client waits in a call. */
import { type Freshness, NOT_CACHEABLE } from "../core/call.js";
import type { Client } from "../core/client.js";
import type { GatewayError } from "../core/errors.js";
import type { HeldEntries } from "../core/list-admission.js";
import { LIST_KINDS, type ListKind } from "../core/lists.js";
import { inBackground } from "../core/logger.js";
import type { StopSignal } from "../core/stop.js";
import {
  type ListScope,
  type ServerFacts,
  type ServerList,
  SHARED_SCOPE,
  type Upstream,
} from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import { Absence } from "./absence.js";
import { ChangeDeduplicator, MalformedEntries } from "./deduplication.js";
import { FirstStart } from "./first-start.js";
import { offersList, remainingFreshness } from "./list-capabilities.js";
import { ListExpiry } from "./list-expiry.js";
import { ListFailures, needsSignIn } from "./list-failures.js";
import { ListPersistence } from "./list-persistence.js";
import { ListRefresh } from "./list-refresh.js";
import { isReachedAlone, isUsable, ListWaits } from "./list-waits.js";
import { ReplicaHints } from "./replica-hints.js";
import { type CachedList, type ConnectionLists, type InternedList, ScopedLists } from "./scoped-lists.js";
import type { ServerListsOptions, ServerListsStatus, WaitLimit } from "./server-lists-options.js";
import { visibleItems } from "./server-namespace.js";
import { SignInLoads } from "./sign-in-loads.js";

/** Keeps the lists of one server current. */
export class ServerLists {
  readonly name: string;
  readonly upstream: Upstream;
  readonly #options: Omit<ServerListsOptions, "before" | "store">;
  readonly #lists = new ScopedLists();
  readonly #kept: ListPersistence;
  readonly #refresh: ListRefresh;
  readonly #waits: ListWaits;
  readonly #expiry: ListExpiry;
  readonly #deduplicator = new ChangeDeduplicator();
  readonly #malformed: MalformedEntries;
  readonly #failures: ListFailures;
  readonly #unwatch: () => void;
  readonly #hints: ReplicaHints;
  readonly #firstStart: FirstStart;
  #facts: ServerFacts | undefined;
  readonly #endAdmission: (() => void) | undefined;
  /** Resolves when the lists of the last shared connection are loaded or have failed. */
  #loaded: Promise<void> = Promise.resolve();
  readonly #signInLoads: SignInLoads;
  readonly #absence: Absence;

  /** What was known before is read once and not held on to, or every config there ever was would stay in memory. */
  constructor({ before, store, ...options }: ServerListsOptions) {
    const { upstream, times, logger } = options;
    this.#options = options;
    this.#malformed = before === undefined ? new MalformedEntries() : before.#malformed;
    this.upstream = upstream;
    this.name = upstream.name;
    this.#failures = new ListFailures(upstream.name, logger);
    this.#absence = new Absence(times.graceMs, options.onViewsChanged);
    // A server that an earlier config started did not start again.
    this.#firstStart = new FirstStart(before?.upstream === upstream ? before.#firstStart.since : undefined);
    this.#kept = new ListPersistence(this.#lists, store);
    this.#refresh = new ListRefresh({
      ...{ upstream, logger, settleMs: times.settleMs, listTimeoutMs: times.listTimeoutMs },
      prepare: options.admission?.prepare?.bind(options.admission),
      known: ({ listScope }, kind) => this.#lists.read(listScope, kind)?.unfiltered,
      onLoaded: (listener, kind, list) => this.#onLoaded(listener, kind, list),
      onFailed: (listener, kind, cause) => {
        this.#lists.makeStale(listener, kind);
        listener.wantsSignIn = needsSignIn(cause);
        if (!listener.wantsSignIn) this.#failures.add(kind, cause, listener === this.#lists.shared);
        options.onStateChanged();
      },
      // A server that is away is asked when it is back, a connection of one client when that client asks again.
      shouldRetry: (listener) => listener === this.#lists.shared && upstream.state === "ready",
    });
    this.#signInLoads = new SignInLoads(upstream, this.#lists, this.#refresh);
    this.#endAdmission = options.admission?.watch(() => this.#admitAnew());
    this.#unwatch = upstream.watch({
      ready: (audience) => this.#onOpened(audience),
      listChanged: (kind, audience) => this.#onListChanged(kind, audience),
      resourceUpdated: options.onResourceUpdated,
      unavailable: (cause) => this.#onUnavailable(cause),
      rested: () => {
        this.#refresh.cancel(this.#lists.shared);
        options.onStateChanged();
      },
      credentialsChanged: (principal) =>
        inBackground(this.#signInLoads.load(principal), logger, "listing after a sign-in"),
    });
    this.#expiry = new ListExpiry({
      ...{ upstream, lists: this.#lists, refresh: this.#refresh, logger },
      factsOf: (client) => (client === undefined ? this.facts : this.factsFor(client)),
      lacksList: () => this.#lacksList,
    });
    this.#waits = new ListWaits({
      ...{ upstream, lists: this.#lists, refresh: this.#refresh, firstStart: this.#firstStart },
      ...{ absence: this.#absence, signInLoads: this.#signInLoads, callWaitMs: times.callWaitMs },
      prepare: (client, limit) => this.prepare(client, limit),
      loaded: () => this.#loaded,
      lacksList: () => this.#lacksList,
      isMet: () => this.facts !== undefined,
    });
    this.#hints = new ReplicaHints(options.hints, { upstream, lists: this.#lists, refresh: this.#refresh });
    const inherits = before?.upstream === upstream && before.#firstStart.isOver;
    if (inherits) this.#inherit(before);
    else this.#begin();
    this.#kept.follow(inherits);
    // The next run should know of a start that took longer than lists wait for it.
    if (store !== undefined) this.#firstStart.onceHanging(times.startupWaitMs, () => this.#kept.failed());
  }

  /** What the server last said of itself; kept while it is away. */
  get facts(): ServerFacts | undefined {
    this.#facts = this.upstream.facts ?? this.#facts;
    return this.#admitted(this.#facts);
  }

  /** What the server last said of itself to clients like `client`. */
  factsFor(client: Client): ServerFacts | undefined {
    return this.#admitted(this.upstream.factsFor?.(client)) ?? this.facts;
  }

  /** What features hold back of it; undefined if none does. */
  get held(): HeldEntries | undefined {
    return this.#options.admission?.held;
  }

  /** What `client` sees; undefined when nothing is known, or no longer. */
  read(client: Client, kind: ListKind): InternedList | undefined {
    return this.#cached(client, kind)?.list;
  }

  /** Whether nothing is listed for `client` because it has to sign in. */
  wantsSignIn(client: Client): boolean {
    const own = this.#lists.find(this.upstream.listScope(client));
    if (own?.wantsSignIn === true) return true;
    // A principal that has signed in has lists over its own connection, which may have ended since.
    const hasSignedIn = own !== undefined && own !== this.#lists.shared && own.lists.size > 0;
    return this.upstream.state === "needs_sign_in" && !hasSignedIn;
  }

  /** Whether `client` sees the list of its own class; until that is loaded, it sees the one of other clients. */
  knows(client: Client, kind: ListKind): boolean {
    return this.#cached(client, kind) !== undefined && this.#lists.isLoaded(this.#register(client), kind);
  }

  /** Whether the list for `client` is not known yet and is on its way. */
  isLoading(client: Client, kind: ListKind): boolean {
    if (this.knows(client, kind)) return false;
    return this.isStarting || this.#waits.isLoading(this.upstream.listScope(client));
  }

  /** What the server lists, before filters, over the connection that clients share; undefined while a list of it is unknown. */
  get ownEntries(): Readonly<Record<ListKind, readonly JsonObject[]>> | undefined {
    const { lists } = this.#lists.shared;
    const isMissing = (kind: ListKind): boolean => !lists.has(kind) && offersList(this.facts, kind);
    if (lists.size === 0 || LIST_KINDS.some(isMissing)) return undefined;
    const entries = LIST_KINDS.map((kind) => [kind, lists.get(kind)?.unfiltered ?? []] as const);
    return Object.fromEntries(entries) as Record<ListKind, readonly JsonObject[]>;
  }

  /** The known lists of this kind, as the server has sent them, of each class of clients; the shared one first. */
  ownLists(kind: ListKind): readonly (readonly JsonObject[])[] {
    return this.#lists.unfiltered(kind);
  }

  /** How many entries the server gave for that, before its filters; undefined when nothing is known. */
  unfilteredCount(client: Client, kind: ListKind): number | undefined {
    return this.#cached(client, kind)?.unfiltered.length;
  }

  /** How fresh that is now; undefined when the server does not offer such a list. */
  freshness(client: Client, kind: ListKind): Freshness | undefined {
    if (!offersList(this.factsFor(client), kind)) return undefined;
    const held = this.#cached(client, kind);
    if (held === undefined || !isUsable(this.upstream)) return NOT_CACHEABLE;
    const freshness = remainingFreshness(held, performance.now());
    // A list that depends on client capabilities is not shared.
    const forAll = this.upstream.listScope(client).capabilityClass === SHARED_SCOPE.capabilityClass;
    return forAll ? freshness : { ...freshness, scope: "private" };
  }

  /** Whether the server is in its first start: its lists were never known, and it has not failed. */
  get isStarting(): boolean {
    return !this.#firstStart.isOver;
  }

  /**
   * Sees to it that `client` gets a true list. Returns undefined when there is nothing to wait for; the promise
   * never rejects and is bounded by `limit` (default: `callWaitMs`). A start, or a load of the first lists of a class,
   * that has taken longer than that already is not waited for.
   */
  prepare(client: Client, limit?: WaitLimit): Promise<void> | undefined {
    return this.isPrepared(client) ? undefined : this.#waits.forLists(client, limit);
  }

  /** Whether `client` can be given its lists at once; what is older than it should be is refreshed in the background. */
  isPrepared(client: Client): boolean {
    const listScope = this.#register(client);
    if (this.isStarting || !this.#lists.isComplete(listScope)) return false;
    this.#expiry.refresh(listScope);
    return true;
  }

  /** As `prepare`, for a client that looks for something which this server may have. */
  connectAndPrepare(client: Client, signal?: StopSignal): Promise<void> | undefined {
    return this.#waits.forTarget(client, signal);
  }

  /** Resolves when the server was met and has listed for `client`, or when it cannot be met now. Never rejects. */
  whenLoaded(client: Client): Promise<void> {
    return this.#waits.whenLoaded(client);
  }

  /** The same, as often as it is called; resolves to whether all lists of `client` are known. Never rejects. */
  loadWhole(client: Client): Promise<boolean> {
    return this.#waits.loadWhole(client);
  }

  /** Drops what was kept for a session. */
  releaseClient(affinity: string): void {
    const connection = this.#lists.forget(affinity);
    if (connection !== undefined) this.#refresh.cancel(connection);
  }

  /** See `ListFailures.text`. */
  get listError(): string | undefined {
    return this.#failures.text;
  }

  status(): ServerListsStatus {
    const lists = LIST_KINDS.map((kind) => [kind, this.#lists.shared.lists.get(kind)] as const);
    const heard = lists.flatMap(([, held]) => (held === undefined ? [] : [held.fetchedAt]));
    return {
      counts: Object.fromEntries(lists.map(([kind, held]) => [kind, held?.list.items.length ?? 0])),
      stale: !isUsable(this.upstream) || lists.some(([, held]) => held?.stale !== false),
      shown: !this.#absence.hasLeft,
      ageMs: heard.length === 0 ? undefined : Math.round(performance.now() - Math.min(...heard)),
      audiences: 1 + this.#lists.size,
      malformed: MalformedEntries.union(this.#lists.all()),
    };
  }

  close(): void {
    this.#unwatch();
    this.#endAdmission?.();
    this.#hints.close();
    this.#refresh.close();
    this.#absence.stop();
    this.#firstStart.end();
  }

  /** Shows what an earlier run of the gateway knew, until the server is there. */
  #begin(): void {
    const isKnown = this.#kept.restore(this.#shown);
    if (isKnown) this.#warnMissing(this.#lists.shared.lists.get("tools")?.unfiltered ?? []);
    if (this.upstream.state === "ready") this.#onOpened(SHARED_SCOPE);
    const isWaitedFor = this.upstream.state === "starting" && !this.#kept.startFailed;
    if (isKnown || (this.upstream.state !== "ready" && !isWaitedFor)) this.#firstStart.end();
  }

  #inherit(before: ServerLists): void {
    this.#facts = before.#facts;
    this.#absence.inherit(before.#absence);
    this.#lists.inherit(before.#lists, this.#shown);
    const tools = this.#lists.shared.lists.get("tools");
    if (tools !== undefined) this.#warnMissing(tools.unfiltered);
    this.#firstStart.end();
    if (!isUsable(this.upstream)) this.#onUnavailable(undefined);
    for (const connection of this.#lists.all()) {
      const met = before.#lists.find(connection.listScope);
      const pending = met === undefined ? [] : before.#refresh.pending(met);
      if (pending.length > 0) this.#refresh.schedule(connection, pending);
    }
  }

  #onOpened(listScope: ListScope): void {
    const connection = this.#lists.find(listScope);
    if (connection === undefined) return;
    connection.openedAt = performance.now();
    if (connection !== this.#lists.shared) {
      // If it is being asked, it opened because of that.
      if (!this.#refresh.isBusy(connection)) this.#refresh.schedule(connection, LIST_KINDS);
      return;
    }
    this.#facts = this.upstream.facts;
    this.#expiry.opened();
    this.#failures.clear();
    this.#hints.clear();
    this.#absence.stop();
    // A waiting client must not wait forever after a failure.
    this.#loaded = this.#loadAll(connection);
    this.#options.onOpened();
    this.#options.onStateChanged();
  }

  async #loadAll(connection: ConnectionLists): Promise<void> {
    try {
      await this.#refresh.load(connection);
    } catch (error) {
      const sentence = "lists could not be applied to the catalog";
      this.#options.logger.error({ server: this.name, error }, sentence);
    }
    this.#kept.settled();
    this.#firstStart.end();
  }

  #onListChanged(kind: ListKind, listScope: ListScope): void {
    const connection = this.#lists.find(listScope);
    if (connection !== undefined) this.#refresh.schedule(connection, [kind]);
    else this.#lists.makeClassStale(listScope);
  }

  #onUnavailable(cause: GatewayError | undefined): void {
    this.#firstStart.end();
    this.#kept.failed();
    this.#lists.makeAllStale();
    this.#options.onStateChanged();
    // What is known stays in the lists: a call leads the person to the sign-in.
    if (this.upstream.state === "needs_sign_in" || needsSignIn(cause)) {
      this.#kept.closed();
      return;
    }
    // A server on demand is not missed while nothing uses it; what it lists starts it again.
    if (this.upstream.startsOnDemand === true && this.#facts !== undefined) return;
    this.#absence.begin();
  }

  #onLoaded(
    connection: ConnectionLists,
    kind: ListKind,
    { items, freshness, hasTtl = false, malformed = [] }: ServerList,
  ): void {
    this.#malformed.warn(this.name, malformed, this.#options.logger);
    connection.wantsSignIn = false;
    if (connection === this.#lists.shared) this.#failures.remove(kind);
    const shown = this.#shown(kind, items);
    if (kind === "tools" && connection === this.#lists.shared) this.#warnMissing(items);
    const own = connection.lists.get(kind)?.list;
    const loaded = { shown, unfiltered: items, malformed, freshness, hasTtl };
    const { before, now, isNew } = this.#lists.store(connection, kind, loaded);
    this.#kept.loaded(isNew);
    const wasAway = this.#absence.end();
    // What it was only taken to see before it was asked for is no list that has changed.
    const changed = own !== undefined && own !== now;
    if (changed && this.#deduplicator.isNew(kind, connection)) this.#options.onListChanged(kind);
    if (connection === this.#lists.shared) this.#hints.loaded(kind, items, changed);
    if (before !== now || wasAway) this.#options.onViewsChanged();
  }

  /** What the config says of a tool that is not there has most likely been misspelt. */
  #warnMissing(tools: readonly JsonObject[]): void {
    const { space, logger } = this.#options;
    for (const tool of space.overrides?.missing(tools) ?? [])
      logger.warn({ server: this.name, tool }, "the config overrides a tool that the server does not list");
  }

  /** What features and the filters of the config leave of a list. */
  readonly #shown = (kind: ListKind, items: readonly JsonObject[]): readonly JsonObject[] => {
    const { space, admission } = this.#options;
    return visibleItems(space, kind, admission === undefined ? items : admission.admitted(kind, items));
  };

  /** Features admit other entries than before. */
  #admitAnew(): void {
    const changed = this.#lists.showAnew(this.#shown);
    for (const kind of changed) this.#options.onListChanged(kind);
    // What the server says of itself may be shown otherwise, too.
    this.#options.onViewsChanged();
  }

  #admitted(facts: ServerFacts | undefined): ServerFacts | undefined {
    const { admission } = this.#options;
    return facts === undefined || admission === undefined ? facts : admission.admittedFacts(facts);
  }

  #cached(client: Client, kind: ListKind): CachedList | undefined {
    const isShown = !this.#absence.hasLeft || isReachedAlone(this.upstream, client);
    return isShown ? this.#lists.read(this.#register(client), kind) : undefined;
  }

  /** Remembers the client, so that its connection loads lists for it when it opens. */
  #register(client: Client): ListScope {
    const listScope = this.upstream.listScope(client);
    this.#lists.register(listScope, client);
    return listScope;
  }

  /** Whether a list of the shared scope that the server offers could not be read. */
  get #lacksList(): boolean {
    const { lists } = this.#lists.shared;
    return (
      this.#failures.text !== undefined ||
      LIST_KINDS.some((kind) => offersList(this.facts, kind) && !lists.has(kind))
    );
  }
}
