/** The lists of one server as each client sees them, kept current and never asked for while a client waits in a call. */
import type { Freshness } from "../core/call.js";
import type { Client } from "../core/client.js";
import type { Malformed } from "../core/list-entries.js";
import type { Logger } from "../core/logger.js";
import {
  type Audience,
  EVERYBODY,
  LIST_KINDS,
  type ListKind,
  type ServerFacts,
  type ServerList,
  type Upstream,
} from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import { AudienceLists, type HeldList, type KnownList, type Listener } from "./audience-lists.js";
import { ChangeWaves } from "./change-waves.js";
import { Foundings } from "./foundings.js";
import { remaining, STALE } from "./freshness.js";
import { LeftOutEntries } from "./left-out-entries.js";
import { ListRefresh } from "./list-refresh.js";
import { offers, outdated } from "./offered-lists.js";
import { type ServerSpace, shownItems } from "./server-space.js";
import { within } from "./within.js";

/** Times in milliseconds. */
export interface RefreshTimes {
  /** How long to wait for more announcements before asking. */
  readonly settleMs: number;
  /** How long a client waits for a server that starts, or for the first lists of its class. */
  readonly startupWaitMs: number;
  /** How long a server may take to give all pages of one list. */
  readonly listTimeoutMs: number;
  /** How long the entries of a server that is away stay in the lists. */
  readonly graceMs: number;
}

export interface ServerListsOptions {
  readonly upstream: Upstream;
  readonly space: ServerSpace;
  readonly times: RefreshTimes;
  readonly logger: Logger;
  /** Somebody may see other lists than before. */
  readonly changed: () => void;
  /** The server's list really differs from what was known of it; told once, however many audiences hear it. */
  readonly listChanged: (kind: ListKind) => void;
  /** The shared connection is open, and the facts of the server are known. */
  readonly opened: () => void;
  readonly resourceUpdated: (uri: string, audience: Audience | undefined) => void;
  /** What was known of the same server under an earlier config. */
  readonly before: ServerLists | undefined;
}

export interface ServerListsStatus {
  /** Entries of each list after the server's filters, as clients that cannot be asked see them. */
  readonly counts: Readonly<Record<string, number>>;
  readonly stale: boolean;
  /** False when it has been away for so long that its entries left the lists. */
  readonly shown: boolean;
  /** Since the oldest of its lists was heard; undefined when none was. */
  readonly ageMs: number | undefined;
  /** Connections, or classes of clients, whose lists are kept apart. */
  readonly audiences: number;
  /** Entries that the server lists and that hosts cannot read, of all audiences; each once. */
  readonly malformed: readonly Malformed[];
}

export class ServerLists {
  readonly name: string;
  readonly upstream: Upstream;
  readonly #options: Omit<ServerListsOptions, "before">;
  readonly #lists = new AudienceLists();
  readonly #refresh: ListRefresh;
  readonly #foundings = new Foundings();
  readonly #waves = new ChangeWaves();
  readonly #leftOut: LeftOutEntries;
  readonly #unwatch: () => void;
  readonly #bornAt = performance.now();
  readonly #settled: Promise<void>;
  #settle: () => void = () => {};
  #isSettled = false;
  #facts: ServerFacts | undefined;
  /** Resolves when the lists of the shared connection that was opened last were heard, or failed. */
  #loaded: Promise<void> = Promise.resolve();
  /** Its entries have left the lists until it is heard again. */
  #away = false;
  #grace: NodeJS.Timeout | undefined;

  /** What was known before is read once and not held on to, or every config there ever was would stay in memory. */
  constructor({ before, ...options }: ServerListsOptions) {
    const { upstream, times, logger } = options;
    this.#options = options;
    this.#leftOut = before === undefined ? new LeftOutEntries() : before.#leftOut;
    this.upstream = upstream;
    this.name = upstream.name;
    this.#settled = new Promise((resolve) => {
      this.#settle = () => {
        this.#isSettled = true;
        resolve();
      };
    });
    this.#refresh = new ListRefresh({
      upstream,
      logger,
      settleMs: times.settleMs,
      listTimeoutMs: times.listTimeoutMs,
      heard: (listener, kind, list) => this.#heard(listener, kind, list),
      failed: (listener, kind, cause) => {
        this.#lists.makeStale(listener, kind);
        logger.warn(
          { server: this.name, list: kind, error: cause },
          "a list could not be read; the last one known is shown",
        );
      },
      // A server that is away is asked when it is back, a connection of one client when that client asks again.
      persist: (listener) => listener === this.#lists.shared && upstream.state === "ready",
    });
    this.#unwatch = upstream.watch({
      ready: (audience) => this.#opened(audience),
      listChanged: (kind, audience) => this.#announced(kind, audience),
      resourceUpdated: (uri, audience) => options.resourceUpdated(uri, audience),
      unavailable: () => this.#unavailable(),
    });
    if (before?.upstream === upstream && before.#isSettled) this.#inherit(before);
    else if (upstream.facts !== undefined) this.#opened(EVERYBODY);
    else if (upstream.state !== "starting") this.#settle();
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
  read(client: Client, kind: ListKind): KnownList | undefined {
    return this.#held(client, kind)?.list;
  }

  /** How many entries the server gave for that, before its filters; undefined when nothing is known. */
  offered(client: Client, kind: ListKind): number | undefined {
    return this.#held(client, kind)?.given.length;
  }

  /** How fresh that is now; undefined when the server does not offer such a list. */
  freshness(client: Client, kind: ListKind): Freshness | undefined {
    if (!offers(this.factsFor(client), kind)) return undefined;
    const held = this.#held(client, kind);
    if (held === undefined || this.upstream.state !== "ready") return STALE;
    const freshness = remaining(held, performance.now());
    // What depends on a client's capabilities is not for everybody.
    const forAll = this.upstream.audience(client).class === EVERYBODY.class;
    return forAll ? freshness : { ...freshness, scope: "private" };
  }

  /**
   * Sees to it that `client` gets a true list. Returns undefined when there is nothing to wait for; the promise
   * never rejects and is bounded by `startupWaitMs`, counted from when the server began to start or to list.
   */
  prepare(client: Client): Promise<void> | undefined {
    const audience = this.#meet(client);
    if (!this.#isSettled || !this.#lists.canTell(audience)) return this.#wait(client);
    this.#lookAgain(audience);
    return undefined;
  }

  /**
   * As `prepare`, for a client that looks for something which this server may have: while nothing is known of what it
   * lists and it is away, it would have to wait for the next attempt, which may be a minute off.
   */
  seek(client: Client): Promise<void> | undefined {
    const { upstream, facts } = this;
    if (upstream.state !== "backoff" || upstream.seek === undefined) return undefined;
    if (facts !== undefined && !this.#away) return undefined;
    const found = upstream
      .seek()
      .then(() => this.#loaded)
      .then(() => this.prepare(client));
    return within(found, this.#options.times.startupWaitMs);
  }

  /**
   * Resolves when the server was met and has listed for `client`, or when it cannot be met now. Never rejects; bounded by
   * how long the server may take to connect and to list.
   */
  async met(client: Client): Promise<void> {
    await this.upstream.seek?.();
    if (this.upstream.state === "starting") await this.#settled;
    await this.#loaded;
    await this.prepare(client);
  }

  /** Lets go of what was kept for a session. */
  forget(affinity: string): void {
    const listener = this.#lists.forget(affinity);
    if (listener !== undefined) this.#refresh.cancel(listener);
  }

  status(): ServerListsStatus {
    const lists = LIST_KINDS.map((kind) => [kind, this.#lists.shared.lists.get(kind)] as const);
    const heard = lists.flatMap(([, held]) => (held === undefined ? [] : [held.heardAt]));
    return {
      counts: Object.fromEntries(lists.map(([kind, held]) => [kind, held?.list.items.length ?? 0])),
      stale: this.upstream.state !== "ready" || lists.some(([, held]) => held?.stale !== false),
      shown: !this.#away,
      ageMs: heard.length === 0 ? undefined : Math.round(performance.now() - Math.min(...heard)),
      audiences: 1 + this.#lists.size,
      malformed: LeftOutEntries.union(this.#lists.all()),
    };
  }

  close(): void {
    this.#unwatch();
    this.#refresh.close();
    clearTimeout(this.#grace);
    this.#settle();
  }

  #inherit(before: ServerLists): void {
    this.#facts = before.facts;
    this.#away = before.#away;
    this.#lists.inherit(before.#lists, (kind, given) => shownItems(this.#options.space, kind, given));
    const tools = this.#lists.shared.lists.get("tools");
    if (tools !== undefined) this.#tellMissing(tools.given);
    this.#settle();
    if (this.upstream.state !== "ready") this.#unavailable();
    for (const listener of this.#lists.all()) {
      const met = before.#lists.find(listener.audience);
      const pending = met === undefined ? [] : before.#refresh.pending(met);
      if (pending.length > 0) this.#refresh.mark(listener, pending);
    }
  }

  // ---- what the server says ---------------------------------------------------------------------------------

  #opened(audience: Audience): void {
    const listener = this.#lists.find(audience);
    if (listener === undefined) return;
    listener.openedAt = performance.now();
    if (listener !== this.#lists.shared) {
      // If it is being asked, it opened because of that.
      if (!this.#refresh.isBusy(listener)) this.#refresh.mark(listener, LIST_KINDS);
      return;
    }
    this.#facts = this.upstream.facts;
    clearTimeout(this.#grace);
    this.#grace = undefined;
    // Whoever waits for it must not wait for ever where that failed.
    this.#loaded = this.#refresh
      .load(listener)
      .catch((error: unknown) =>
        this.#options.logger.error({ server: this.name, error }, "lists could not be taken in"),
      )
      .then(() => this.#settle());
    this.#options.opened();
  }

  #announced(kind: ListKind, audience: Audience): void {
    const listener = this.#lists.find(audience);
    if (listener === undefined) this.#lists.doubt(audience);
    else this.#refresh.mark(listener, [kind]);
  }

  #unavailable(): void {
    this.#settle();
    this.#lists.makeAllStale();
    if (this.#away || this.#grace !== undefined) return;
    this.#grace = setTimeout(() => {
      this.#grace = undefined;
      this.#away = true;
      this.#options.changed();
    }, this.#options.times.graceMs);
  }

  #heard(
    listener: Listener,
    kind: ListKind,
    { items, freshness, isTimed = false, malformed = [] }: ServerList,
  ): void {
    this.#leftOut.warn(this.name, malformed, this.#options.logger);
    const shown = shownItems(this.#options.space, kind, items);
    if (kind === "tools" && listener === this.#lists.shared) this.#tellMissing(items);
    const own = listener.lists.get(kind)?.list;
    const { before, now } = this.#lists.take(listener, kind, {
      shown,
      given: items,
      malformed,
      freshness,
      isTimed,
    });
    const wasAway = this.#away;
    this.#away = false;
    // What it was only taken to see before it was asked for is no list that has changed.
    const changed = own !== undefined && own !== now;
    if (changed && this.#waves.isNews(kind, listener)) this.#options.listChanged(kind);
    if (before !== now || wasAway) this.#options.changed();
  }

  /** What the config says of a tool that is not there has most likely been misspelt. */
  #tellMissing(tools: readonly JsonObject[]): void {
    const { space, logger } = this.#options;
    for (const tool of space.overrides?.missing(tools) ?? []) {
      logger.warn({ server: this.name, tool }, "the config overrides a tool that the server does not list");
    }
  }

  // ---- what clients need ------------------------------------------------------------------------------------

  #held(client: Client, kind: ListKind): HeldList | undefined {
    return this.#away ? undefined : this.#lists.read(this.#meet(client), kind);
  }

  /** Whoever looks is remembered, so that its connection has somebody to be asked for when it opens. */
  #meet(client: Client): Audience {
    const audience = this.upstream.audience(client);
    this.#lists.meet(audience, client);
    return audience;
  }

  async #wait(client: Client): Promise<void> {
    const { startupWaitMs } = this.#options.times;
    const patience = performance.now() + startupWaitMs;
    await until(this.#settled, Math.min(patience, this.#bornAt + startupWaitMs));
    const audience = this.upstream.audience(client);
    if (this.upstream.state !== "ready" || this.#lists.canTell(audience)) return;
    // The first client of a class opens its connection and asks for all others of its kind.
    const founding = this.#foundings.join(audience, async () => {
      const listener = this.#lists.meet(audience, client);
      listener.openedAt = performance.now();
      await this.#refresh.load(listener);
      return this.#lists.canTell(audience);
    });
    if (founding === undefined) return;
    await until(founding.done, Math.min(patience, founding.since + startupWaitMs));
  }

  /** Refreshes in the background what a client is about to be shown and what is older than it should be. */
  #lookAgain(audience: Audience): void {
    const listener = this.#lists.find(audience) ?? this.#lists.shared;
    if (this.upstream.state !== "ready" || this.#refresh.isBusy(listener)) return;
    const { client, lists } = listener;
    const facts = client === undefined ? this.facts : this.factsFor(client);
    const old = outdated(lists, facts, performance.now());
    if (old.length > 0) this.#refresh.mark(listener, old);
  }
}

/** Waits for `promise`, but not beyond `time` by the monotonic clock. */
const until = (promise: Promise<unknown>, time: number): Promise<void> =>
  within(promise, time - performance.now());
