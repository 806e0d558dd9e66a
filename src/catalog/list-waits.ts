/** What does a client wait for before it gets the lists of a server, and for how long? */
import type { Client } from "../core/client.js";
import { awaitWithin, type StopSignal } from "../core/stop.js";
import type { ListScope, Upstream } from "../core/upstream.js";
import type { Absence } from "./absence.js";
import type { FirstStart } from "./first-start.js";
import type { ListRefresh } from "./list-refresh.js";
import type { ScopedLists } from "./scoped-lists.js";
import type { WaitLimit } from "./server-lists-options.js";
import type { SignInLoads } from "./sign-in-loads.js";
import { SingleFlightLoads } from "./single-flight-loads.js";

/** The server that is waited for. */
export interface WaitedServer {
  readonly upstream: Upstream;
  readonly lists: ScopedLists;
  readonly refresh: ListRefresh;
  readonly firstStart: FirstStart;
  readonly absence: Absence;
  readonly signInLoads: SignInLoads;
  readonly callWaitMs: number;
  /** Sees to it that a client gets true lists; undefined when there is nothing to wait for. */
  readonly prepare: (client: Client, limit?: WaitLimit) => Promise<void> | undefined;
  /** Resolves when the lists of the last shared connection are loaded or have failed. */
  readonly loaded: () => Promise<void>;
  /** Whether a list that the server offers could not be read. */
  readonly lacksList: () => boolean;
  /** Whether it was ever connected. */
  readonly isMet: () => boolean;
}

/** The waits for the lists of one server. None rejects. */
export class ListWaits {
  readonly #server: WaitedServer;
  readonly #loads = new SingleFlightLoads();

  constructor(server: WaitedServer) {
    this.#server = server;
  }

  /** Whether the first lists of a class are being loaded. */
  isLoading(listScope: ListScope): boolean {
    return this.#loads.isRunning(listScope);
  }

  /** For lists that are not complete, by default for `callWaitMs`. A load that has taken longer than the limit already is not waited for. */
  async forLists(client: Client, limit?: WaitLimit): Promise<void> {
    const { upstream, lists, firstStart, callWaitMs } = this.#server;
    const { ms = callWaitMs, signal } = limit ?? {};
    const until = performance.now() + ms;
    await firstStart.wait(ms, signal);
    if (signal?.aborted === true) return;
    const listScope = upstream.listScope(client);
    // The shared connection may lack the credentials or headers that the one of this client has.
    const mayDiffer = upstream.state === "needs_sign_in" || isReachedAlone(upstream, client);
    if (!(isUsable(upstream) || mayDiffer) || lists.isComplete(listScope)) return;
    // The first client of a class opens its connection and asks for all others of its kind.
    const load = this.#loads.join(listScope, () => this.#load(listScope, client));
    if (load === undefined || load.isRetry) return;
    await awaitWithin(Math.min(until, load.since + ms) - performance.now(), load.done, signal);
  }

  /**
   * For a target that the server may have: while nothing is known of what it lists and it is away, it would have to wait for
   * the next attempt, which may be a minute off. Lists that are loaded for the first time, or after a sign-in, are waited for.
   */
  forTarget(client: Client, signal?: StopSignal): Promise<void> | undefined {
    const { upstream, lists, firstStart, absence, signInLoads, prepare, loaded } = this.#server;
    const isStarting = !firstStart.isOver;
    const signedIn = signInLoads.of(client.principal);
    const isAway = upstream.state === "backoff" || upstream.state === "needs_sign_in";
    const isBackAgain = upstream.state === "starting" && !isStarting;
    const isUnlisted = !this.#server.isMet() || absence.hasLeft || !lists.hasClass(this.#register(client));
    const connects = (isAway || isBackAgain) && isUnlisted;
    // `prepare` waits for the lists of a first start.
    const isListing = !isStarting && this.#server.lacksList();
    if (!connects && !isListing && signedIn === undefined) return undefined;
    const limit: WaitLimit = { ms: this.#server.callWaitMs, signal };
    const connected = connects ? upstream.connectNow?.().then(loaded) : loaded();
    const found = Promise.all([connected, signedIn]).then(() => prepare(client, limit));
    return awaitWithin(limit.ms, found, signal);
  }

  /** For the first lists, however long the server takes to connect and to list. */
  async whenLoaded(client: Client): Promise<void> {
    const { upstream, firstStart, prepare, loaded } = this.#server;
    if (upstream.state !== "idle") await upstream.connectNow?.();
    if (upstream.state === "starting") await firstStart.ended;
    await loaded();
    await prepare(client);
  }

  /** As `whenLoaded`, and again where the last attempt has failed. Resolves to whether all lists of `client` are known. */
  async loadWhole(client: Client): Promise<boolean> {
    await this.whenLoaded(client);
    const { upstream, lists } = this.#server;
    const listScope = upstream.listScope(client);
    if (isUsable(upstream) && !lists.isComplete(listScope))
      await this.#loads.join(listScope, () => this.#load(listScope, client), "ignored")?.done;
    return lists.isComplete(listScope);
  }

  async #load(listScope: ListScope, client: Client): Promise<boolean> {
    const { lists, refresh } = this.#server;
    const connection = lists.register(listScope, client);
    connection.openedAt = performance.now();
    await refresh.load(connection);
    return lists.isComplete(listScope);
  }

  #register(client: Client): ListScope {
    const { upstream, lists } = this.#server;
    const listScope = upstream.listScope(client);
    lists.register(listScope, client);
    return listScope;
  }
}

/** Connected, or started by its next use. */
export const isUsable = ({ state }: Pick<Upstream, "state">): boolean =>
  state === "ready" || state === "idle";

/** Whether a connection of its own, with headers of its host, serves `client`. */
export const isReachedAlone = (upstream: Upstream, client: Client): boolean =>
  upstream.headersOf?.(client) !== undefined;
