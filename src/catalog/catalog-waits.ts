/** For which servers does a client wait before it gets a list, or before a target counts as unknown? */
import type { Client } from "../core/client.js";
import type { ListKind } from "../core/lists.js";
import type { Target } from "../core/methods.js";
import type { StopSignal } from "../core/stop.js";
import { runSteps } from "../runtime/cooperative-yield.js";
import { StartupWaits } from "./first-start.js";
import type { ServerLists } from "./server-lists.js";
import type { RefreshTimes, WaitLimit } from "./server-lists-options.js";
import type { CatalogServer, ServerNamespace } from "./server-namespace.js";
import type { ShownServers } from "./shown-servers.js";
import { SoughtTargets } from "./sought-targets.js";
import type { Views } from "./views.js";

/** The servers that are waited for. */
export interface CatalogWaitsSettings {
  readonly servers: ReadonlyMap<string, ServerLists>;
  readonly configured: readonly CatalogServer[];
  readonly shown: ShownServers;
  readonly views: Views;
  readonly times: RefreshTimes;
}

/** The waits for the servers of one config. None rejects. */
export class CatalogWaits {
  readonly #settings: CatalogWaitsSettings;
  /** How long (ms) a list waits for each server. */
  readonly #listWaitMs: ReadonlyMap<string, number>;
  readonly #startupWaits = new StartupWaits();
  readonly #soughtTargets = new SoughtTargets();

  constructor(settings: CatalogWaitsSettings) {
    this.#settings = settings;
    const { startupWaitMs } = settings.times;
    this.#listWaitMs = new Map(
      settings.configured.map(({ name, required, connectTimeoutMs = 0 }) => [
        name,
        required === true ? Math.max(startupWaitMs, connectTimeoutMs) : startupWaitMs,
      ]),
    );
  }

  /** See `Catalog.prepare`. */
  prepare(client: Client, sought: readonly Target[] = [], signal?: StopSignal): Promise<void> {
    const { shown, servers, views } = this.#settings;
    // A hidden server is neither connected nor awaited on behalf of this client.
    const spaces = shown.of(client);
    if (sought.length === 0) {
      const waits = spaces.flatMap(({ name }) => servers.get(name)?.prepare(client) ?? []);
      return Promise.all(waits).then(() => runSteps(views.merge(client)));
    }
    const isFound = (): boolean =>
      sought.some(({ kind, name }) => views.of(client).find(kind, name) !== undefined);
    return this.#soughtTargets.during(isFound, signal, (end) =>
      Promise.all(spaces.flatMap((space) => this.#forTargets(client, space, { spaces, sought }, end))),
    );
  }

  /** See `Catalog.prepareLists`; undefined where there is nothing to wait for. */
  forLists(client: Client, signal: StopSignal): Promise<void> | undefined {
    if (this.#startupWaits.isOver) return undefined;
    const { shown, servers } = this.#settings;
    const late = shown
      .of(client)
      .flatMap(({ name }) => servers.get(name) ?? [])
      .filter((server) => !server.isPrepared(client));
    if (late.length === 0) return undefined;
    return this.#startupWaits.during(signal, (end) =>
      Promise.all(late.flatMap((server) => server.prepare(client, this.#limitOf(server, end)) ?? [])),
    );
  }

  /** See `Catalog.unlistedOwner`. */
  unlistedOwner(client: Client, kind: ListKind, name: string): string | undefined {
    const { shown, servers, views } = this.#settings;
    const owner = views.of(client).unavailableOwner(kind, name);
    if (owner !== undefined) return owner;
    const spaces = shown.of(client);
    // A name with the prefix of a server is no own name of another one.
    if (spaces.some((space) => shown.hasPrefixOf(space, { kind, name }))) return undefined;
    return spaces.find((space) => servers.get(space.name)?.isLoading(client, kind))?.name;
  }

  /** The lists of a server have changed. */
  listsChanged(): void {
    this.#soughtTargets.listsChanged();
  }

  /** Ends all waits for first starts. */
  stop(): void {
    this.#startupWaits.end();
  }

  /** What a call for `sought` waits for at one server. A name without the prefix of any server may be the own name of each. */
  #forTargets(
    client: Client,
    space: ServerNamespace,
    { spaces, sought }: { readonly spaces: readonly ServerNamespace[]; readonly sought: readonly Target[] },
    signal: StopSignal,
  ): readonly Promise<void>[] {
    const { shown, servers, times } = this.#settings;
    const server = servers.get(space.name);
    if (server === undefined) return [];
    const isNamed = sought.some(({ kind, name }) => name.startsWith(shown.prefixOf(space, kind)));
    const isOfNone = (target: Target): boolean => !spaces.some((other) => shown.hasPrefixOf(other, target));
    const mayHave = isNamed || sought.some(isOfNone);
    const listed =
      mayHave && !this.#startupWaits.isOver
        ? this.#startupWaits.during(signal, async (end) => server.prepare(client, this.#limitOf(server, end)))
        : server.prepare(client, { ms: times.callWaitMs, signal });
    const connected = isNamed ? server.connectAndPrepare(client, signal) : undefined;
    return [listed, connected].filter((wait) => wait !== undefined);
  }

  #limitOf({ name }: ServerLists, signal: StopSignal): WaitLimit {
    return { ms: this.#listWaitMs.get(name) ?? this.#settings.times.startupWaitMs, signal };
  }
}
