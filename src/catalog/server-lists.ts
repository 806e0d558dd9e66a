/**
 * Keeps the lists of one server current: asks for them when a connection opens and when the server says that
 * they changed, once for many changes, one refresh at a time, and never while a client waits for an answer.
 */
import PQueue from "p-queue";
import type { Freshness } from "../core/call.js";
import type { Client } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import {
  type Audience,
  EVERYBODY,
  LIST_KINDS,
  type ListKind,
  type ServerFacts,
  type Upstream,
} from "../core/upstream.js";
import { objectAt } from "../wire/json.js";
import { AudienceLists, type KnownList, type Listener } from "./audience-lists.js";
import { remaining, STALE } from "./freshness.js";
import type { ServerSpace } from "./server-space.js";
import { shownItems } from "./server-space.js";
import { within } from "./within.js";

/** Times in milliseconds. */
export interface RefreshTimes {
  /** How long to wait for more changes before asking. */
  readonly settleMs: number;
  /** How long a client waits for a server that starts, or for the first list of its class. */
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
  /** The server's list really differs from what was known of it. */
  readonly listChanged: (kind: ListKind) => void;
  readonly resourceUpdated: (uri: string, audience: Audience | undefined) => void;
}

/** Which capability says that a server offers a list. */
const CAPABILITY: Readonly<Record<ListKind, string>> = {
  tools: "tools",
  prompts: "prompts",
  resources: "resources",
  resourceTemplates: "resources",
};

const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;
/** A server that promises to announce changes is asked anyway once in a while: announcements get lost. */
const LOOK_AGAIN_MS = { announced: 300_000, silent: 30_000 } as const;

/** One connection's refreshing. */
interface Refresh {
  readonly listener: Listener;
  readonly due: Set<ListKind>;
  timer: NodeJS.Timeout | undefined;
  /** The first load, or a later one that was asked for at once. */
  loading: Promise<void> | undefined;
  loadingSince: number;
  failures: number;
  notBefore: number;
}

export class ServerLists {
  readonly name: string;
  readonly #options: ServerListsOptions;
  readonly #lists = new AudienceLists();
  readonly #queue = new PQueue({ concurrency: 1 });
  readonly #refreshes = new WeakMap<Listener, Refresh>();
  readonly #closing = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #unwatch: () => void;
  readonly #bornAt = performance.now();
  readonly #settled: Promise<void>;
  #settle: () => void = () => {};
  #isSettled = false;
  #facts: ServerFacts | undefined;
  /** The entries have left the lists until the server is heard again. */
  #away = false;
  #grace: NodeJS.Timeout | undefined;

  constructor(options: ServerListsOptions) {
    this.#options = options;
    const { upstream } = options;
    this.name = upstream.name;
    this.#settled = new Promise((resolve) => {
      this.#settle = () => {
        this.#isSettled = true;
        resolve();
      };
    });
    this.#unwatch = upstream.watch({
      ready: (audience) => this.#opened(audience),
      listChanged: (kind, audience) => this.#announced(kind, audience),
      resourceUpdated: (uri, audience) => options.resourceUpdated(uri, audience),
      unavailable: () => this.#unavailable(),
    });
    if (upstream.facts !== undefined) this.#opened(EVERYBODY);
    else if (upstream.state !== "starting") this.#settle();
  }

  get space(): ServerSpace {
    return this.#options.space;
  }

  get upstream(): Upstream {
    return this.#options.upstream;
  }

  /** What it last said of itself; kept while it is away. */
  get facts(): ServerFacts | undefined {
    this.#facts = this.upstream.facts ?? this.#facts;
    return this.#facts;
  }

  /** What `audience` sees; undefined when nothing is known, or no longer. */
  read(audience: Audience, kind: ListKind): KnownList | undefined {
    return this.#away ? undefined : this.#lists.read(audience, kind)?.list;
  }

  /** How many entries the server gave for that, before its filters; undefined when nothing is known. */
  offered(audience: Audience, kind: ListKind): number | undefined {
    return this.#away ? undefined : this.#lists.read(audience, kind)?.offered;
  }

  /** How fresh that is now; undefined when the server does not offer such a list. */
  freshness(audience: Audience, kind: ListKind): Freshness | undefined {
    if (this.facts !== undefined && !this.#offers(kind)) return undefined;
    const held = this.#lists.read(audience, kind);
    if (held === undefined || this.#away || this.upstream.state !== "ready") return STALE;
    const freshness = remaining(held, performance.now());
    // What depends on a client's capabilities is not for everybody.
    return audience.class === EVERYBODY.class ? freshness : { ...freshness, scope: "private" };
  }

  /**
   * Sees to it that `client` gets a true list. Returns undefined when nothing needs waiting for; the promise never
   * rejects and is bounded by `startupWaitMs`, counted from when the server began to start or to list.
   */
  prepare(client: Client): Promise<void> | undefined {
    const audience = this.upstream.audience(client);
    if (this.#isSettled && this.#lists.canTell(audience)) {
      this.#lookAgain(audience);
      return undefined;
    }
    return this.#wait(client);
  }

  /** Lets go of what was kept for a session. */
  forget(affinity: string): void {
    const listener = this.#lists.forget(affinity);
    if (listener !== undefined) this.#cancel(this.#refreshOf(listener));
  }

  status(): ServerListsStatus {
    const lists = LIST_KINDS.map((kind) => [kind, this.#lists.shared.lists.get(kind)] as const);
    const heard = lists.flatMap(([, held]) => (held === undefined ? [] : [held.heardAt]));
    return {
      counts: Object.fromEntries(lists.map(([kind, held]) => [kind, held?.list.items.length ?? 0])),
      stale: this.upstream.state !== "ready" || lists.some(([, held]) => held === undefined || held.stale),
      shown: !this.#away,
      ageMs: heard.length === 0 ? undefined : Math.round(performance.now() - Math.min(...heard)),
      audiences: 1 + this.#lists.size,
    };
  }

  close(): void {
    this.#unwatch();
    this.#closing.abort();
    clearTimeout(this.#grace);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#queue.clear();
    this.#settle();
  }

  // ---- what the server says ---------------------------------------------------------------------------------

  #opened(audience: Audience): void {
    const listener = this.#lists.find(audience);
    if (listener === undefined) return;
    listener.openedAt = performance.now();
    const refresh = this.#refreshOf(listener);
    refresh.failures = 0;
    if (listener === this.#lists.shared) {
      clearTimeout(this.#grace);
      this.#grace = undefined;
      void this.#load(refresh).then(() => this.#settle());
    } else if (refresh.loading === undefined) {
      // Otherwise it opened because its lists were asked for, and they are on their way.
      this.#mark(refresh, LIST_KINDS, this.#options.times.settleMs);
    }
  }

  #announced(kind: ListKind, audience: Audience): void {
    const listener = this.#lists.find(audience);
    if (listener === undefined) this.#lists.doubt(audience);
    else this.#mark(this.#refreshOf(listener), [kind], this.#options.times.settleMs);
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

  // ---- asking -----------------------------------------------------------------------------------------------

  async #wait(client: Client): Promise<void> {
    const { startupWaitMs } = this.#options.times;
    const patience = performance.now() + startupWaitMs;
    await within(this.#settled, Math.min(patience, this.#bornAt + startupWaitMs) - performance.now());
    const audience = this.upstream.audience(client);
    if (this.upstream.state !== "ready" || this.#lists.canTell(audience)) return;
    const refresh = this.#refreshOf(this.#lists.meet(audience, client));
    if (refresh.loading === undefined && performance.now() < refresh.notBefore) return;
    const loading = refresh.loading ?? this.#load(refresh);
    await within(loading, Math.min(patience, refresh.loadingSince + startupWaitMs) - performance.now());
  }

  /** Asks for all lists at once, behind what is being asked already. */
  #load(refresh: Refresh): Promise<void> {
    this.#cancel(refresh);
    for (const kind of LIST_KINDS) refresh.due.add(kind);
    refresh.loadingSince = performance.now();
    refresh.listener.openedAt = refresh.loadingSince;
    const loading = this.#queue
      .add(() => this.#refresh(refresh))
      .then(() => {
        if (refresh.loading === loading) refresh.loading = undefined;
      });
    refresh.loading = loading;
    return loading;
  }

  /** Asks for `kinds` after `delayMs`; what is marked until then is asked for together. */
  #mark(refresh: Refresh, kinds: readonly ListKind[], delayMs: number): void {
    if (this.#closing.signal.aborted) return;
    for (const kind of kinds) refresh.due.add(kind);
    if (refresh.timer !== undefined) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      refresh.timer = undefined;
      void this.#queue.add(() => this.#refresh(refresh));
    }, delayMs);
    this.#timers.add(timer);
    refresh.timer = timer;
  }

  #cancel(refresh: Refresh): void {
    if (refresh.timer === undefined) return;
    clearTimeout(refresh.timer);
    this.#timers.delete(refresh.timer);
    refresh.timer = undefined;
  }

  async #refresh(refresh: Refresh): Promise<void> {
    const kinds = [...refresh.due];
    refresh.due.clear();
    // Side by side, each taken in as it comes: a list that hangs holds up no other.
    const failed = (await Promise.all(kinds.map((kind) => this.#ask(refresh.listener, kind)))).includes(
      false,
    );
    if (!failed) {
      refresh.failures = 0;
      return;
    }
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** refresh.failures++, LAST_RETRY_MS);
    refresh.notBefore = performance.now() + delayMs;
    // A server that is away is asked when it is back; a connection of one client when that client asks again.
    if (refresh.listener === this.#lists.shared && this.upstream.state === "ready") {
      const missing = kinds.filter((kind) => this.#lists.shared.lists.get(kind)?.stale !== false);
      this.#mark(refresh, missing, delayMs);
    }
  }

  /** Asks for one list. Resolves to whether it was heard. */
  async #ask(listener: Listener, kind: ListKind): Promise<boolean> {
    const { listTimeoutMs } = this.#options.times;
    const giveUp = new AbortController();
    const close = () => giveUp.abort();
    this.#closing.signal.addEventListener("abort", close);
    const timer = setTimeout(close, listTimeoutMs);
    try {
      if (this.#closing.signal.aborted) return false;
      const asked = this.upstream.list(kind, listener.client, giveUp.signal);
      const { items, freshness } = await Promise.race([asked, aborted(giveUp.signal, this.name, kind)]);
      const shown = shownItems(this.space, kind, items);
      this.#heard(kind, this.#lists.take(listener, kind, { items: shown, offered: items.length, freshness }));
      return true;
    } catch (cause) {
      if (this.#closing.signal.aborted) return false;
      this.#lists.makeStale(listener, kind);
      this.#options.logger.warn(
        { server: this.name, list: kind, error: cause },
        "a list could not be read; the last one known is shown",
      );
      return false;
    } finally {
      clearTimeout(timer);
      this.#closing.signal.removeEventListener("abort", close);
    }
  }

  #heard(kind: ListKind, { before, now }: ReturnType<AudienceLists["take"]>): void {
    const wasAway = this.#away;
    this.#away = false;
    if (before !== undefined && before !== now) this.#options.listChanged(kind);
    if (before !== now || wasAway) this.#options.changed();
  }

  /** Refreshes in the background what a client is about to be shown and what is older than it should be. */
  #lookAgain(audience: Audience): void {
    if (this.upstream.state !== "ready") return;
    const listener = this.#lists.find(audience) ?? this.#lists.shared;
    const now = performance.now();
    const refresh = this.#refreshOf(listener);
    if (refresh.timer !== undefined || refresh.loading !== undefined || now < refresh.notBefore) return;
    const old = LIST_KINDS.filter((kind) => {
      const held = listener.lists.get(kind);
      if (held === undefined || !this.#offers(kind)) return false;
      return now - held.heardAt > Math.max(held.freshness.ttlMs, this.#patienceWith(kind));
    });
    if (old.length > 0) this.#mark(refresh, old, this.#options.times.settleMs);
  }

  #patienceWith(kind: ListKind): number {
    const announced = objectAt(this.facts?.capabilities, CAPABILITY[kind])?.listChanged === true;
    return announced ? LOOK_AGAIN_MS.announced : LOOK_AGAIN_MS.silent;
  }

  #offers(kind: ListKind): boolean {
    return objectAt(this.facts?.capabilities, CAPABILITY[kind]) !== undefined;
  }

  #refreshOf(listener: Listener): Refresh {
    const known = this.#refreshes.get(listener);
    if (known !== undefined) return known;
    const refresh: Refresh = {
      listener,
      due: new Set(),
      timer: undefined,
      loading: undefined,
      loadingSince: 0,
      failures: 0,
      notBefore: 0,
    };
    this.#refreshes.set(listener, refresh);
    return refresh;
  }
}

export interface ServerListsStatus {
  /** Entries per list after the server's filters, as clients that cannot be asked see them. */
  readonly counts: Readonly<Record<string, number>>;
  readonly stale: boolean;
  /** False when it has been away for so long that its entries left the lists. */
  readonly shown: boolean;
  readonly ageMs: number | undefined;
  /** Connections whose lists are kept apart. */
  readonly audiences: number;
}

function aborted(signal: AbortSignal, server: string, kind: ListKind): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () =>
      reject(
        new GatewayError("timed_out", "upstream", `${server} did not list its ${kind} in time`, {
          server,
          retryable: true,
        }),
      ),
    );
  });
}
