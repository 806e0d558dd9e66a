/** Builds the views of clients from the servers' lists; equal parts are built once and shared. */
import { LRUCache } from "lru-cache";
import type { Route } from "../core/call.js";
import { ANONYMOUS, type Client, clientInfoLength, type Principal } from "../core/client.js";
import type { ToolsOfClient } from "../core/list-transform.js";
import { isUriList, LIST_KINDS, type ListKind } from "../core/lists.js";
import type { Steps } from "../runtime/cooperative-yield.js";
import { writeJson } from "../wire/json-text.js";
import type { Endpoint } from "./endpoints.js";
import { formedInSteps, formedTools } from "./formed-tools.js";
import type { AppPageAccess, LearnedUris } from "./learned-routes.js";
import { type Contribution, mergeLists, type Renamed, subset, withOwnNames } from "./merge.js";
import type { NameOwners, Naming } from "./naming.js";
import type { ServerLists } from "./server-lists.js";
import { CatalogView, Snapshot, type ViewContext, type VisibilityCheck } from "./view.js";

/** Sources of lists and owners. */
export interface ViewsOptions {
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  readonly servers: ReadonlyMap<string, ServerLists>;
  readonly naming: Naming;
  readonly owners: NameOwners;
  readonly isVisible: VisibilityCheck | undefined;
  /** Called when lists are merged, for each entry whose name another server has already. */
  readonly onRenamed?: (kind: ListKind, renamed: Renamed) => void;
  readonly learnedUris: LearnedUris;
  readonly appPages: AppPageAccess;
}

/** The limits: number of views, and total characters of client capabilities and info. */
const LIMITS = { maxSize: 32 * 1024 * 1024 };
const MIN_CHARACTERS = Math.ceil(LIMITS.maxSize / 10_000);

/** The endpoint of a name that no server serves. */
const UNKNOWN_ENDPOINT: Endpoint = { name: "", namespaces: [], form: undefined };
const emptySnapshot = (kind: ListKind): Snapshot => new Snapshot(kind, []);

/** Builds and shares the views of clients. */
export class Views {
  readonly #options: ViewsOptions;
  readonly #context: ViewContext;
  /**
   * Keyed by scope and affinity, which decide what servers list for a client; and by principal if rules hide some of
   * that: the same person may return with a token of fewer scopes.
   */
  readonly #views = new LRUCache<string, WeakMap<Principal, CatalogView>>(LIMITS);
  /** The view of a known client object, without computing a key. */
  #byClient = new WeakMap<Client, CatalogView>();
  /** Merged lists and parts of them, keyed by their sources. */
  #snapshots = newSnapshots();
  /** Numbers snapshots for the keys of derived ones. */
  readonly #numbers = new WeakMap<Snapshot, number>();
  #lastNumber = 0;
  /** Views from before the last change; valid parts are reused on demand. */
  #earlier = newSnapshots();

  constructor(options: ViewsOptions) {
    this.#options = options;
    const { servers, naming, owners, learnedUris, appPages } = options;
    const facts = (server: string) => servers.get(server)?.facts;
    this.#context = {
      naming,
      owners,
      learnedUris,
      appPages,
      isKnown: (client, server, kind) => servers.get(server)?.knows(client, kind) === true,
      mayHaveResources: (server) =>
        facts(server)?.capabilities.resources !== undefined || facts(server) === undefined,
    };
  }

  /** Called when any list has changed. Drops everything that no current view refers to. */
  expire(): void {
    this.#views.clear();
    this.#byClient = new WeakMap();
    if (this.#snapshots.size === 0) return;
    this.#earlier = this.#snapshots;
    this.#snapshots = newSnapshots();
  }

  /** Drops the state of a session. */
  releaseClient(affinity: string): void {
    for (const scope of this.#options.endpoints.keys()) this.#views.delete(keyOf(scope, affinity));
  }

  of(client: Client): CatalogView {
    const held = this.#byClient.get(client);
    if (held !== undefined) return held;
    const key = keyOf(client.endpoint, client.affinity);
    const principal = this.#options.isVisible === undefined ? ANONYMOUS : client.principal;
    let kept = this.#views.get(key);
    if (kept === undefined) {
      kept = new WeakMap();
      this.#views.set(key, kept, { size: Math.max(MIN_CHARACTERS, key.length + clientInfoLength(client)) });
    }
    let view = kept.get(principal);
    if (view === undefined) {
      view = this.#make(client, this.#options.isVisible);
      kept.set(principal, view);
    }
    this.#byClient.set(client, view);
    return view;
  }

  /** Merges the lists of `client` and makes their revisions, in steps where they are long; `of` is cheap afterwards. */
  *merge(client: Client): Steps<void> {
    const endpoint = this.#options.endpoints.get(client.endpoint) ?? UNKNOWN_ENDPOINT;
    for (const kind of LIST_KINDS) {
      const before = this.#lastNumber;
      const { form } = endpoint;
      if (kind === "tools" && form !== undefined) yield* formedInSteps(this.#whole(client, kind), form);
      const list = this.#listOf(client, endpoint, kind);
      if (!list.isLong) continue;
      if (this.#lastNumber !== before) yield;
      yield* list.prepare();
    }
  }

  /** Like `of`, without caching. */
  uncached(client: Client): CatalogView {
    return this.#make(client, this.#options.isVisible);
  }

  /** The view of `client` without hiding rules; to explain why something is hidden. */
  unfiltered(client: Client): CatalogView {
    return this.#make(client, undefined);
  }

  /** The tools of `client`, and the list that clients with other rights or profiles see other parts of. */
  toolsOf(client: Client): ToolsOfClient {
    const endpoint = this.#options.endpoints.get(client.endpoint) ?? UNKNOWN_ENDPOINT;
    const tools = this.of(client).list("tools");
    const whole =
      endpoint.filter === undefined ? this.#listOf(client, endpoint, "tools") : this.#whole(client, "tools");
    return { tools, whole };
  }

  #make(client: Client, isVisible: VisibilityCheck | undefined): CatalogView {
    const endpoint = this.#options.endpoints.get(client.endpoint) ?? UNKNOWN_ENDPOINT;
    const lists = Object.fromEntries(
      LIST_KINDS.map((kind) => [kind, this.#listOf(client, endpoint, kind)]),
    ) as Record<ListKind, Snapshot>;
    const parts = { client, endpoint, isVisible, context: this.#context };
    const whole = new CatalogView({ ...parts, lists });
    if (isVisible === undefined) return whole;
    const readable = (uri: string) => {
      const route = whole.find("resources", uri);
      return route !== undefined && isVisible(client, route);
    };
    const seen = Object.fromEntries(
      LIST_KINDS.map((kind) => [
        kind,
        this.#part(lists[kind], (route) => isVisible(client, route), readable),
      ]),
    ) as Record<ListKind, Snapshot>;
    return new CatalogView({ ...parts, lists: seen });
  }

  /** The list of a scope. Every other one is cut out of the whole, whose names are the ones rules are about. */
  #listOf(client: Client, scope: Endpoint, kind: ListKind): Snapshot {
    if (scope === UNKNOWN_ENDPOINT) return emptySnapshot(kind);
    const whole = this.#whole(client, kind);
    return this.#shared(`${scope.name}\0${this.#numberOf(whole)}`, () => {
      const { form } = scope;
      const list = this.#cut(whole, scope, kind);
      return kind === "tools" && form !== undefined ? formedTools(list, form) : list;
    });
  }

  /** The part of the whole that a scope has. */
  #cut(whole: Snapshot, scope: Endpoint, kind: ListKind): Snapshot {
    const { filter, namespaces } = scope;
    const [only] = namespaces;
    if (filter === undefined && scope.name !== "") {
      return only === undefined ? emptySnapshot(kind) : withOwnNames(whole, only, this.#options.naming);
    }
    const isUri = isUriList(kind);
    const { owners } = this.#options;
    const names = new Set(namespaces.map(({ name }) => name));
    const passes = ({ exposed, unambiguousName = exposed }: Route): boolean =>
      filter === undefined || (filter.passes(kind, exposed) && filter.passes(kind, unambiguousName));
    return subset(
      whole,
      (route) =>
        names.has(route.upstream) &&
        // What would lead to another server is not shown; at the path of its own server it is.
        !(isUri && owners.isForeignUri(route.upstream, route.exposed)) &&
        passes(route),
      (uri) => filter === undefined || filter.passes("resources", uri),
    );
  }

  /** Everything that servers list for a client, in the order of the config. */
  #whole(client: Client, kind: ListKind): Snapshot {
    const ids: number[] = [];
    const contributions: Contribution[] = [];
    for (const space of this.#options.endpoints.get("")?.namespaces ?? []) {
      const list = this.#options.servers.get(space.name)?.read(client, kind);
      ids.push(list?.id ?? 0);
      if (list !== undefined) contributions.push({ space, items: list.items });
    }
    return this.#shared(`\0${kind}\0${ids.join()}`, () =>
      mergeLists(kind, contributions, this.#options.naming, this.#options.owners, (renamed) =>
        this.#options.onRenamed?.(kind, renamed),
      ),
    );
  }

  /** Clients that see the same part of the same list share it. */
  #part(list: Snapshot, keep: Parameters<typeof subset>[1], readable: (uri: string) => boolean): Snapshot {
    const part = subset(list, keep, readable);
    if (part === list) return list;
    return this.#shared(`seen\0${this.#numberOf(list)}\0${difference(list, part)}`, () => part);
  }

  #numberOf(snapshot: Snapshot): number {
    const known = this.#numbers.get(snapshot);
    if (known !== undefined) return known;
    this.#lastNumber += 1;
    this.#numbers.set(snapshot, this.#lastNumber);
    return this.#lastNumber;
  }

  #shared(key: string, make: () => Snapshot): Snapshot {
    const known = this.#snapshots.get(key);
    if (known !== undefined) return known;
    const snapshot = this.#earlier.get(key) ?? make();
    this.#snapshots.set(key, snapshot);
    return snapshot;
  }
}

const newSnapshots = () => new LRUCache<string, Snapshot>({ max: 500 });

const keyOf = (scope: string, affinity: string): string => `${scope}\0${affinity}`;

/** What tells one part of `list` from another: a digit for each entry, and the entries that are not as they were. */
function difference(list: Snapshot, part: Snapshot): string {
  let at = 0;
  return list.entries
    .map((entry) => {
      const kept = part.entries[at];
      if (kept?.route !== entry.route) return "0";
      at++;
      return kept === entry ? "1" : writeJson(kept.item);
    })
    .join("");
}
