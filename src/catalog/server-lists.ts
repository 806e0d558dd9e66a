/** The lists of one server as each client sees them, kept current and never asked for while a client waits in a call. */

import { type Freshness, NOT_CACHEABLE } from "../core/call.js";
import type { Client } from "../core/client.js";
import type { SharedServer } from "../core/cluster.js";
import { GatewayError } from "../core/errors.js";
import type { MalformedEntry } from "../core/list-entries.js";
import { LIST_KINDS, LISTS, type ListKind } from "../core/lists.js";
import { inBackground, type Logger } from "../core/logger.js";
import type { ListStore } from "../core/persisted-lists.js";
import { principalKey } from "../core/principal.js";
import { awaitWithin, type StopSignal } from "../core/stop.js";
import {
  type ListScope,
  type ServerFacts,
  type ServerList,
  SHARED_SCOPE,
  type Upstream,
} from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import { ChangeDeduplicator, MalformedEntries } from "./deduplication.js";
import { FirstStart } from "./first-start.js";
import { expiredLists, offersList, remainingFreshness } from "./list-capabilities.js";
import { ListPersistence } from "./list-persistence.js";
import { ListRefresh } from "./list-refresh.js";
import { type CachedList, type ConnectionLists, type InternedList, ScopedLists } from "./scoped-lists.js";
import { type ServerNamespace, visibleItems } from "./server-namespace.js";
import { SingleFlightLoads } from "./single-flight-loads.js";

/** Times in milliseconds. */
export interface RefreshTimes {
  /** How long to wait for more announcements before asking. */
  readonly settleMs: number;
  /** How long a call waits for a server that starts, or for the first lists of its class. */
  readonly callWaitMs: number;
  /** How long a list waits for them: hosts may keep the first list that they get. */
  readonly startupWaitMs: number;
  /** How long a server may take to give all pages of one list. */
  readonly listTimeoutMs: number;
  /** How long the entries of a server that is away stay in the lists. */
  readonly graceMs: number;
}

/** The server, and what is called when its lists change. */
export interface ServerListsOptions {
  readonly upstream: Upstream;
  readonly space: ServerNamespace;
  readonly times: RefreshTimes;
  readonly logger: Logger;
  /** A client may see other lists than before. */
  readonly onViewsChanged: () => void;
  /** Called once per real change of the server's list, whatever the number of list scopes that see it. */
  readonly onListChanged: (kind: ListKind) => void;
  /** The shared connection is open, and the facts of the server are known. */
  readonly onOpened: () => void;
  readonly onResourceUpdated: (uri: string, listScope: ListScope | undefined) => void;
  /** What was known of the same server under an earlier config. */
  readonly before: ServerLists | undefined;
  /** Keeps what is known for the next run. Default: nothing is kept. */
  readonly store?: ListStore | undefined;
  /** Default: there are no other replicas. */
  readonly hints?: ListHints | undefined;
}

/** What replicas tell each other of the lists of one server. */
export type ListHints = Pick<SharedServer, "listChanged" | "onListChanged">;

/** How long a client waits at most, in milliseconds, and what ends its wait before. */
export interface WaitLimit {
  readonly ms: number;
  readonly signal?: StopSignal | undefined;
}

/** What the status page shows of the lists of one server. */
export interface ServerListsStatus {
  /** Entries of each list after the server's filters, as clients that cannot be asked see them. */
  readonly counts: Readonly<Record<string, number>>;
  readonly stale: boolean;
  /** False when the server was unavailable for longer than the limit and its entries have left the lists. */
  readonly shown: boolean;
  /** Age of its oldest list; undefined before the first load. */
  readonly ageMs: number | undefined;
  /** Connections, or classes of clients, whose lists are kept apart. */
  readonly audiences: number;
  /** Entries that the server lists and that hosts cannot read, of all audiences; each once. */
  readonly malformed: readonly MalformedEntry[];
}

/** Keeps the lists of one server current. */
export class ServerLists {
  readonly name: string;
  readonly upstream: Upstream;
  readonly #options: Omit<ServerListsOptions, "before" | "store">;
  readonly #lists = new ScopedLists();
  readonly #kept: ListPersistence;
  readonly #refresh: ListRefresh;
  readonly #loads = new SingleFlightLoads();
  readonly #deduplicator = new ChangeDeduplicator();
  readonly #malformed: MalformedEntries;
  /** Why the lists of the shared connection could not be read at the last attempt. */
  readonly #listErrors = new Map<ListKind, string>();
  readonly #unwatch: () => void;
  readonly #unfollow: (() => void) | undefined;
  /** The lists that are loaded because of another replica's hint. */
  readonly #hinted = new Set<ListKind>();
  readonly #firstStart: FirstStart;
  /** Fires when the first start has taken longer than lists wait for it, which the next run should know. */
  readonly #hanging: NodeJS.Timeout | undefined;
  #facts: ServerFacts | undefined;
  /** When the shared connection was last opened for lists, by `performance.now()`. */
  #openedAt = Number.NEGATIVE_INFINITY;
  /** Resolves when the lists of the last shared connection are loaded or have failed. */
  #loaded: Promise<void> = Promise.resolve();
  /** The loads after sign-ins that are under way, by the id of the principal. */
  readonly #signedIn = new Map<string, Promise<void>>();
  /** Its entries have left the lists until they are loaded again. */
  #away = false;
  #grace: NodeJS.Timeout | undefined;

  /** What was known before is read once and not held on to, or every config there ever was would stay in memory. */
  constructor({ before, store, ...options }: ServerListsOptions) {
    const { upstream, times, logger } = options;
    this.#options = options;
    this.#malformed = before === undefined ? new MalformedEntries() : before.#malformed;
    this.upstream = upstream;
    this.name = upstream.name;
    // A server that an earlier config started did not start again.
    this.#firstStart = new FirstStart(before?.upstream === upstream ? before.#firstStart.since : undefined);
    this.#kept = new ListPersistence(this.#lists, store);
    this.#refresh = new ListRefresh({
      upstream,
      logger,
      settleMs: times.settleMs,
      listTimeoutMs: times.listTimeoutMs,
      onLoaded: (listener, kind, list) => this.#onLoaded(listener, kind, list),
      onFailed: (listener, kind, cause) => {
        this.#lists.makeStale(listener, kind);
        listener.wantsSignIn = needsSignIn(cause);
        // There is nothing to fix at the server.
        if (listener.wantsSignIn) return;
        const error = listErrorText(kind, cause);
        // The list is requested repeatedly; the same error each time would fill the log with warnings.
        const isRepeated = this.#listErrors.get(kind) === error;
        if (listener === this.#lists.shared) this.#listErrors.set(kind, error);
        const sentence = `${error}; the last known list is served`;
        // An error of another kind is one of the gateway, and has a stack.
        const bug = cause instanceof GatewayError ? {} : { error: cause };
        if (isRepeated) logger.info({ server: this.name, list: kind }, sentence);
        else logger.warn({ server: this.name, list: kind, ...bug }, sentence);
      },
      // A server that is away is asked when it is back, a connection of one client when that client asks again.
      shouldRetry: (listener) => listener === this.#lists.shared && upstream.state === "ready",
    });
    this.#unwatch = upstream.watch({
      ready: (audience) => this.#onOpened(audience),
      listChanged: (kind, audience) => this.#onListChanged(kind, audience),
      resourceUpdated: (uri, audience) => options.onResourceUpdated(uri, audience),
      unavailable: (cause) => this.#onUnavailable(cause),
      rested: () => this.#refresh.cancel(this.#lists.shared),
      credentialsChanged: (principal) =>
        inBackground(this.#loadAfterSignIn(principal), logger, "listing after a sign-in"),
    });
    this.#unfollow = options.hints?.onListChanged((kind, isSame) => this.#onHint(kind, isSame));
    const inherits = before?.upstream === upstream && before.#firstStart.isOver;
    if (inherits) this.#inherit(before);
    else this.#begin();
    this.#kept.follow(inherits);
    if (store !== undefined && this.isStarting) {
      const onHanging = (): void => {
        if (this.isStarting) this.#kept.failed();
      };
      this.#hanging = setTimeout(onHanging, this.#firstStart.since + times.startupWaitMs - performance.now());
      this.#hanging.unref();
    }
  }

  /** What the server last said of itself; kept while it is away. */
  get facts(): ServerFacts | undefined {
    this.#facts = this.upstream.facts ?? this.#facts;
    return this.#facts;
  }

  /** What the server last said of itself to clients like `client`. */
  factsFor(client: Client): ServerFacts | undefined {
    return this.upstream.factsFor?.(client) ?? this.facts;
  }

  /** What `client` sees; undefined when nothing is known, or no longer. */
  read(client: Client, kind: ListKind): InternedList | undefined {
    return this.#cached(client, kind)?.list;
  }

  /** Whether nothing is listed for `client` because it has to sign in. */
  wantsSignIn(client: Client): boolean {
    if (this.upstream.state === "needs_sign_in") return true;
    return this.#lists.find(this.upstream.listScope(client))?.wantsSignIn === true;
  }

  /** Whether `client` sees the list of its own class; until that is loaded, it sees the one of other clients. */
  knows(client: Client, kind: ListKind): boolean {
    return this.#cached(client, kind) !== undefined && this.#lists.isLoaded(this.#register(client), kind);
  }

  /** Whether the list for `client` is not known yet and is on its way. */
  isLoading(client: Client, kind: ListKind): boolean {
    if (this.knows(client, kind)) return false;
    return this.isStarting || this.#loads.isRunning(this.upstream.listScope(client));
  }

  /** How many entries the server gave for that, before its filters; undefined when nothing is known. */
  unfilteredCount(client: Client, kind: ListKind): number | undefined {
    return this.#cached(client, kind)?.unfiltered.length;
  }

  /** How fresh that is now; undefined when the server does not offer such a list. */
  freshness(client: Client, kind: ListKind): Freshness | undefined {
    if (!offersList(this.factsFor(client), kind)) return undefined;
    const held = this.#cached(client, kind);
    if (held === undefined || !this.#isUsable) return NOT_CACHEABLE;
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
  prepare(
    client: Client,
    limit: WaitLimit = { ms: this.#options.times.callWaitMs },
  ): Promise<void> | undefined {
    return this.isPrepared(client) ? undefined : this.#wait(client, limit);
  }

  /** Whether `client` can be given its lists at once; what is older than it should be is refreshed in the background. */
  isPrepared(client: Client): boolean {
    const listScope = this.#register(client);
    if (this.isStarting || !this.#lists.isComplete(listScope)) return false;
    this.#refreshExpired(listScope);
    return true;
  }

  /**
   * As `prepare`, for a client that looks for something which this server may have: while nothing is known of what it
   * lists and it is away, it would have to wait for the next attempt, which may be a minute off. Lists that are loaded for
   * the first time, or after a sign-in, are waited for.
   */
  connectAndPrepare(client: Client, signal?: StopSignal): Promise<void> | undefined {
    const { upstream, facts } = this;
    const signedIn = this.#signedIn.get(principalKey(client.principal));
    const isAway = upstream.state === "backoff" || upstream.state === "needs_sign_in";
    const isBackAgain = upstream.state === "starting" && !this.isStarting;
    const isUnlisted = facts === undefined || this.#away || !this.#lists.hasClass(this.#register(client));
    const connects = (isAway || isBackAgain) && isUnlisted;
    // `prepare` waits for the lists of a first start.
    const isListing = !this.isStarting && this.#lacksList;
    if (!connects && !isListing && signedIn === undefined) return undefined;
    const limit: WaitLimit = { ms: this.#options.times.callWaitMs, signal };
    const connected = connects ? upstream.connectNow?.().then(() => this.#loaded) : this.#loaded;
    const found = Promise.all([connected, signedIn]).then(() => this.prepare(client, limit));
    return awaitWithin(limit.ms, found, signal);
  }

  /**
   * Resolves when the server was met and has listed for `client`, or when it cannot be met now. Never rejects; bounded by
   * how long the server may take to connect and to list.
   */
  async whenLoaded(client: Client): Promise<void> {
    if (this.upstream.state !== "idle") await this.upstream.connectNow?.();
    if (this.upstream.state === "starting") await this.#firstStart.ended;
    await this.#loaded;
    await this.prepare(client);
  }

  /** Lets go of what was kept for a session. */
  releaseClient(affinity: string): void {
    const connection = this.#lists.forget(affinity);
    if (connection !== undefined) this.#refresh.cancel(connection);
  }

  /** Why a list could not be read at the last attempt, in a sentence; undefined if all could. */
  get listError(): string | undefined {
    return this.#listErrors.size === 0 ? undefined : [...this.#listErrors.values()].join("; ");
  }

  status(): ServerListsStatus {
    const lists = LIST_KINDS.map((kind) => [kind, this.#lists.shared.lists.get(kind)] as const);
    const heard = lists.flatMap(([, held]) => (held === undefined ? [] : [held.fetchedAt]));
    return {
      counts: Object.fromEntries(lists.map(([kind, held]) => [kind, held?.list.items.length ?? 0])),
      stale: !this.#isUsable || lists.some(([, held]) => held?.stale !== false),
      shown: !this.#away,
      ageMs: heard.length === 0 ? undefined : Math.round(performance.now() - Math.min(...heard)),
      audiences: 1 + this.#lists.size,
      malformed: MalformedEntries.union(this.#lists.all()),
    };
  }

  close(): void {
    this.#unwatch();
    this.#unfollow?.();
    this.#refresh.close();
    clearTimeout(this.#grace);
    clearTimeout(this.#hanging);
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
    this.#facts = before.facts;
    this.#away = before.#away;
    this.#lists.inherit(before.#lists, this.#shown);
    const tools = this.#lists.shared.lists.get("tools");
    if (tools !== undefined) this.#warnMissing(tools.unfiltered);
    this.#firstStart.end();
    if (!this.#isUsable) this.#onUnavailable(undefined);
    for (const connection of this.#lists.all()) {
      const met = before.#lists.find(connection.listScope);
      const pending = met === undefined ? [] : before.#refresh.pending(met);
      if (pending.length > 0) this.#refresh.schedule(connection, pending);
    }
  }

  /** Connected, or started by its next use. */
  get #isUsable(): boolean {
    return this.upstream.state === "ready" || this.upstream.state === "idle";
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
    this.#openedAt = performance.now();
    this.#listErrors.clear();
    this.#hinted.clear();
    clearTimeout(this.#grace);
    this.#grace = undefined;
    // A waiting client must not wait forever after a failure.
    this.#loaded = this.#refresh
      .load(connection)
      .catch((error: unknown) =>
        this.#options.logger.error({ server: this.name, error }, "lists could not be applied to the catalog"),
      )
      .then(() => {
        this.#kept.settled();
        this.#firstStart.end();
      });
    this.#options.onOpened();
  }

  #onListChanged(kind: ListKind, listScope: ListScope): void {
    const connection = this.#lists.find(listScope);
    if (connection === undefined) this.#lists.makeClassStale(listScope);
    else this.#refresh.schedule(connection, [kind]);
  }

  /** A list that was never loaded, or whose connection is not open, is loaded anyway before it is shown as current. */
  #onHint(kind: ListKind, isSame: (items: readonly JsonObject[]) => boolean): void {
    const { shared } = this.#lists;
    const held = shared.lists.get(kind);
    const isOpen = this.upstream.isOpenFor?.(undefined) ?? this.upstream.state === "ready";
    if (held === undefined || !isOpen || isSame(held.unfiltered)) return;
    this.#hinted.add(kind);
    this.#refresh.schedule(shared, [kind]);
  }

  async #loadAfterSignIn(principal: string): Promise<void> {
    const loaded = this.#onCredentialsChanged(principal);
    this.#signedIn.set(principal, loaded);
    try {
      await loaded;
    } finally {
      if (this.#signedIn.get(principal) === loaded) this.#signedIn.delete(principal);
    }
  }

  /** Loads what the clients of `principal` see now; their hosts may have lists from before the sign-in. */
  async #onCredentialsChanged(principal: string): Promise<void> {
    const clients = this.#lists.all().flatMap(({ client }) => client ?? []);
    for (const client of clients.filter((one) => principalKey(one.principal) === principal)) {
      const before = this.upstream.listScope(client);
      await this.#refresh.load(this.#lists.register(before, client));
      // Only the connection shows which era the server is of, and with it the scope.
      const now = this.upstream.listScope(client);
      if (now.key !== before.key) await this.#refresh.load(this.#lists.register(now, client));
    }
  }

  #onUnavailable(cause: GatewayError | undefined): void {
    this.#firstStart.end();
    this.#kept.failed();
    this.#lists.makeAllStale();
    // What is known stays in the lists: a call leads the person to the sign-in.
    if (this.upstream.state === "needs_sign_in" || needsSignIn(cause)) {
      this.#kept.closed();
      return;
    }
    // A server on demand is not missed while nothing uses it; what it lists starts it again.
    if (this.upstream.startsOnDemand === true && this.#facts !== undefined) return;
    if (this.#away || this.#grace !== undefined) return;
    this.#grace = setTimeout(() => {
      this.#grace = undefined;
      this.#away = true;
      this.#options.onViewsChanged();
    }, this.#options.times.graceMs);
  }

  #onLoaded(
    connection: ConnectionLists,
    kind: ListKind,
    { items, freshness, hasTtl = false, malformed = [] }: ServerList,
  ): void {
    this.#malformed.warn(this.name, malformed, this.#options.logger);
    connection.wantsSignIn = false;
    if (connection === this.#lists.shared) this.#listErrors.delete(kind);
    const shown = this.#shown(kind, items);
    if (kind === "tools" && connection === this.#lists.shared) this.#warnMissing(items);
    const own = connection.lists.get(kind)?.list;
    const { before, now, isNew } = this.#lists.store(connection, kind, {
      shown,
      unfiltered: items,
      malformed,
      freshness,
      hasTtl,
    });
    this.#kept.loaded(isNew);
    const wasAway = this.#away;
    this.#away = false;
    // What it was only taken to see before it was asked for is no list that has changed.
    const changed = own !== undefined && own !== now;
    if (changed && this.#deduplicator.isNew(kind, connection)) this.#options.onListChanged(kind);
    // What was loaded for a hint is no news: two replicas whose server gives each another list would tell each other for ever.
    const isHinted = connection === this.#lists.shared && this.#hinted.delete(kind);
    if (changed && connection === this.#lists.shared && !isHinted)
      this.#options.hints?.listChanged(kind, items);
    if (before !== now || wasAway) this.#options.onViewsChanged();
  }

  /** What the config says of a tool that is not there has most likely been misspelt. */
  #warnMissing(tools: readonly JsonObject[]): void {
    const { space, logger } = this.#options;
    for (const tool of space.overrides?.missing(tools) ?? []) {
      logger.warn({ server: this.name, tool }, "the config overrides a tool that the server does not list");
    }
  }

  /** What the filters of the config leave of a list. */
  readonly #shown = (kind: ListKind, items: readonly JsonObject[]): readonly JsonObject[] =>
    visibleItems(this.#options.space, kind, items);

  #cached(client: Client, kind: ListKind): CachedList | undefined {
    const isShown = !this.#away || this.#isReachedAlone(client);
    return isShown ? this.#lists.read(this.#register(client), kind) : undefined;
  }

  #isReachedAlone = (client: Client): boolean => this.upstream.headersOf?.(client) !== undefined;

  /** Remembers the client, so that its connection loads lists for it when it opens. */
  #register(client: Client): ListScope {
    const listScope = this.upstream.listScope(client);
    this.#lists.register(listScope, client);
    return listScope;
  }

  async #wait(client: Client, { ms, signal }: WaitLimit): Promise<void> {
    const until = performance.now() + ms;
    await this.#firstStart.wait(ms, signal);
    if (signal?.aborted === true) return;
    const listScope = this.upstream.listScope(client);
    // The shared connection may lack the credentials or headers that the one of this client has.
    const mayDiffer = this.upstream.state === "needs_sign_in" || this.#isReachedAlone(client);
    if (!(this.#isUsable || mayDiffer) || this.#lists.isComplete(listScope)) return;
    // The first client of a class opens its connection and asks for all others of its kind.
    const load = this.#loads.join(listScope, async () => {
      const connection = this.#lists.register(listScope, client);
      connection.openedAt = performance.now();
      await this.#refresh.load(connection);
      return this.#lists.isComplete(listScope);
    });
    if (load === undefined || load.isRetry) return;
    await awaitWithin(Math.min(until, load.since + ms) - performance.now(), load.done, signal);
  }

  /** Whether a list of the shared scope that the server offers could not be read. */
  get #lacksList(): boolean {
    const { lists } = this.#lists.shared;
    return (
      this.#listErrors.size > 0 || LIST_KINDS.some((kind) => offersList(this.facts, kind) && !lists.has(kind))
    );
  }

  /** Starts an idle server again that could not list at its last start, of this run or the one before. */
  #learnAgain(): void {
    const now = performance.now();
    const isDue = now - this.#openedAt >= RELEARN_AFTER_MS;
    if (this.upstream.state !== "idle" || !this.#lacksList || !isDue) return;
    this.#openedAt = now;
    const connected = this.upstream.connectNow?.() ?? Promise.resolve();
    inBackground(connected, this.#options.logger, "starting a server for its lists");
  }

  /** Refreshes in the background what a client is about to be shown and what is older than it should be. */
  #refreshExpired(listScope: ListScope): void {
    const connection = this.#lists.find(listScope) ?? this.#lists.shared;
    this.#learnAgain();
    const { client, lists } = connection;
    // Nothing is started for a refresh: the next start loads all lists.
    const isOpen = this.upstream.isOpenFor?.(client) ?? this.upstream.state === "ready";
    if (!isOpen || this.#refresh.isBusy(connection)) return;
    const facts = client === undefined ? this.facts : this.factsFor(client);
    const old = expiredLists(lists, facts, performance.now());
    if (old.length > 0) this.#refresh.schedule(connection, old);
  }
}

/** How long (ms) a server on demand whose lists could not be read is left alone before the next list starts it again. */
const RELEARN_AFTER_MS = 60_000;

const needsSignIn = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === "sign_in_required";

const listErrorText = (kind: ListKind, cause: unknown): string =>
  `its ${LISTS[kind].noun}s could not be listed: ${cause instanceof Error ? cause.message : "it failed"}`;
