/** The view of one client at one moment: immutable lists, and the owner of every name and URI. */

import { createHash } from "node:crypto";
import type { Route } from "../core/call.js";
import type { Client } from "../core/client.js";
import type { ExposedItem } from "../core/list-transform.js";
import { isUriList, type ListKind } from "../core/lists.js";
import type { Steps } from "../runtime/cooperative-yield.js";
import { writeJson } from "../wire/json-text.js";
import { Payload } from "../wire/payload.js";
import type { Endpoint } from "./endpoints.js";
import type { AppPageAccess, LearnedUris } from "./learned-routes.js";
import {
  couldExpandTo,
  exposedName,
  exposedPrefix,
  exposeUri,
  hashedName,
  isWebAddress,
  type NameOwners,
  type Naming,
} from "./naming.js";
import { type Cursor, PAGE_SIZE, pageStart, writeCursor } from "./pagination.js";
import type { ServerNamespace } from "./server-namespace.js";

/** Whether a client may see something; otherwise it does not exist for the client. */
export type VisibilityCheck = (client: Client, route: Route) => boolean;

/** The shared parts of all views. */
export interface ViewContext {
  readonly naming: Naming;
  readonly owners: NameOwners;
  readonly learnedUris: LearnedUris;
  readonly appPages: AppPageAccess;
  /** Whether the server's list for this client is known. */
  readonly isKnown: (client: Client, server: string, kind: ListKind) => boolean;
  /** False for a server that advertises no resources. */
  readonly mayHaveResources: (server: string) => boolean;
}

/** Input of a view. */
interface ViewOptions {
  readonly client: Client;
  readonly endpoint: Endpoint;
  readonly lists: Readonly<Record<ListKind, Snapshot>>;
  readonly isVisible: VisibilityCheck | undefined;
  readonly context: ViewContext;
}

/** There is one per session, so it is a single object. */
export class CatalogView {
  readonly endpoint: Endpoint;
  readonly #client: Client;
  readonly #lists: Readonly<Record<ListKind, Snapshot>>;
  readonly #isVisible: VisibilityCheck | undefined;
  readonly #context: ViewContext;

  constructor({ client, endpoint, lists, isVisible, context }: ViewOptions) {
    this.endpoint = endpoint;
    this.#client = client;
    this.#lists = lists;
    this.#isVisible = isVisible;
    this.#context = context;
  }

  list(kind: ListKind): Snapshot {
    return this.#lists[kind];
  }

  /**
   * The route of `name`: an exposed name or URI, a URI with a server's prefix, or a server's own name (apps in a host's
   * window know no other) if exactly one server in the view has it, or one whose page the client has fetched.
   */
  find(kind: ListKind, name: string): Route | undefined {
    const found = this.#lists[kind].find(name);
    if (found !== undefined) return found;
    const isUri = isUriList(kind);
    // A URI that several servers list has no owner, whatever its form.
    const routed = isUri && !this.#lists[kind].has(name) ? this.#byForm(kind, name) : undefined;
    if (routed !== undefined) return routed;
    const owner = this.#ownerOf(kind, name);
    // A name with the prefix of a server belongs to that server only, even while it is unavailable or lacks the name.
    if (owner !== undefined) return onlyRouteTo(this.#lists[kind].ownersOf(name), owner);
    const own = this.#lists[kind].findOwn(name);
    if (own !== undefined || kind !== "tools") return own;
    return this.#context.appPages.resolveTool(this.#client.affinity, this.#lists.tools.ownersOf(name));
  }

  /**
   * The route of the tool or prompt with the own name `own` of `server`, whether or not it is listed now; undefined if
   * the view has no such server.
   */
  findOnServer(kind: "tools" | "prompts", server: string, own: string): Route | undefined {
    const space = this.endpoint.namespaces.find(({ name }) => name === server);
    if (space === undefined) return undefined;
    const listed = this.#lists[kind].ownersOf(own).find(({ upstream }) => upstream === server);
    if (listed !== undefined) return listed;
    const override = kind === "tools" ? space.overrides?.of(own) : undefined;
    const name = override?.name ?? own;
    const { naming, owners } = this.#context;
    const whole = exposedName((space.aggregate ?? space).prefix, name, naming);
    const isForeign = owners.isForeign(server, whole);
    const inWhole = isForeign ? hashedName((space.aggregate ?? space).prefix, name, naming, 1) : whole;
    const exposed = space.aggregate === undefined ? inWhole : exposedName(space.prefix, name, naming);
    return {
      ...{ upstream: server, target: own, exposed },
      ...(inWhole !== exposed && { aggregateName: inWhole }),
      ...(isForeign && { unambiguousName: owners.unambiguousName(server, inWhole) }),
      kind,
    };
  }

  /** The route of the resource with the own URI `own` of `server`; undefined if the client may not see it. */
  resourceOf(server: string, own: string): Route | undefined {
    const space = this.endpoint.namespaces.find(({ name }) => name === server);
    return space && this.#routeTo(space, "resources", own, exposeUri(space, own));
  }

  /**
   * Whether filters or rules hide a resource of `server` from the client, by the server's own URI, listed or not; undefined
   * where they hide none.
   */
  hiddenResources(server: string): ((own: string) => boolean) | undefined {
    const space = this.endpoint.namespaces.find(({ name }) => name === server);
    if (space === undefined) return undefined;
    const { filter } = this.endpoint;
    const isVisible = this.#isVisible;
    if (!space.filtersResources && filter === undefined && isVisible === undefined) return undefined;
    return (own) => {
      if (!space.passes("resources", own)) return true;
      const exposed = exposeUri(space, own);
      if (filter?.passes("resources", exposed) === false) return true;
      return isVisible !== undefined && !isVisible(this.#client, resourceRoute(space, own, exposed));
    };
  }

  /** A server with unknown lists that may have `name`; undefined if there is none. */
  unavailableOwner(kind: ListKind, name: string): string | undefined {
    const absent = this.endpoint.namespaces.filter(
      (space) => !this.#context.isKnown(this.#client, space.name, kind) && this.#couldShow(space, kind, name),
    );
    const owner = this.#ownerOf(kind, name);
    if (owner !== undefined) return absent.some((space) => space.name === owner) ? owner : undefined;
    const candidates = absent.filter(({ prefix }) => prefix === "");
    return candidates.length === 1 ? candidates[0]?.name : undefined;
  }

  /** Whether a URI of `server` is routed back to it by its prefix. */
  leadsTo(server: string, uri: string): boolean {
    const owner = this.#ownerOf("resources", uri);
    return owner === undefined || owner === server;
  }

  /** The server whose prefix `name` has; undefined in the view of a single server with its own names. */
  #ownerOf(kind: ListKind, name: string): string | undefined {
    if (this.endpoint.namespaces.some(({ aggregate }) => aggregate !== undefined)) return undefined;
    const { owners } = this.#context;
    return kind === "tools" || kind === "prompts" ? owners.ofName(name) : owners.ofUri(name);
  }

  #byForm(kind: ListKind, uri: string): Route | undefined {
    for (const space of this.endpoint.namespaces) {
      const own = space.uris?.reveal(uri);
      if (own !== undefined) return this.#routeTo(space, kind, own, uri);
    }
    if (this.#ownerOf(kind, uri) !== undefined) return undefined;
    const open = this.endpoint.namespaces.filter((space) => space.uris === undefined || isWebAddress(uri));
    return this.#soleOwner(open, kind, uri);
  }

  /** Among servers with similar URIs: the one that returned it, whose template matches it, or the only candidate. */
  #soleOwner(open: readonly ServerNamespace[], kind: ListKind, uri: string): Route | undefined {
    const routes = open.flatMap((space) => this.#routeTo(space, kind, uri, uri) ?? []);
    if (routes.length <= 1) return routes[0];
    const given = this.#context.learnedUris.owners(this.#client.affinity, uri);
    const givers = routes.filter(({ upstream }) => given.includes(upstream));
    if (givers.length > 0) return givers.length === 1 ? givers[0] : undefined;
    const makers = new Set(
      this.#lists.resourceTemplates.entries
        .filter(({ route }) => couldExpandTo(route.target, uri))
        .map(({ route }) => route.upstream),
    );
    return makers.size === 1 ? routes.find(({ upstream }) => makers.has(upstream)) : undefined;
  }

  /** The route of an unlisted URI; filters apply as if it were listed. */
  #routeTo(space: ServerNamespace, kind: ListKind, target: string, exposed: string): Route | undefined {
    if (!space.passes(kind, target) || !this.#context.mayHaveResources(space.name)) return undefined;
    if (this.endpoint.filter !== undefined && !this.endpoint.filter.passes(kind, exposed)) return undefined;
    const route = resourceRoute(space, target, exposed, kind);
    return this.#isVisible === undefined || this.#isVisible(this.#client, route) ? route : undefined;
  }

  /** The name without the prefix of the server, where it has that. */
  #ownName(space: ServerNamespace, kind: ListKind, name: string): string {
    if (kind !== "tools" && kind !== "prompts") return space.uris?.reveal(name) ?? name;
    const prefix = exposedPrefix(space.prefix, this.#context.naming);
    return name.startsWith(prefix) ? name.slice(prefix.length) : name;
  }

  /** A hidden target is unknown, and the unavailability of its server is not revealed. */
  #couldShow(space: ServerNamespace, kind: ListKind, name: string): boolean {
    const { aggregate = space } = space;
    const isName = kind === "tools" || kind === "prompts";
    const inWhole = isName
      ? exposedName(aggregate.prefix, name, this.#context.naming)
      : exposeUri(aggregate, name);
    const { filter } = this.endpoint;
    if (!space.mayHave(kind, this.#ownName(space, kind, name)) || filter?.passes(kind, name) === false)
      return false;
    const elsewhere = space === aggregate ? {} : { aggregateName: inWhole };
    const route: Route = { upstream: space.name, target: name, exposed: name, ...elsewhere, kind };
    return this.#isVisible === undefined || this.#isVisible(this.#client, route);
  }
}

/** The route of a URI that is in no list. */
function resourceRoute(
  space: ServerNamespace,
  target: string,
  exposed: string,
  kind: ListKind = "resources",
): Route {
  const aggregateName = space.aggregate === undefined ? exposed : exposeUri(space.aggregate, target);
  return {
    upstream: space.name,
    target,
    exposed,
    ...(aggregateName !== exposed && { aggregateName }),
    kind,
  };
}

/** The only one of `routes` at `server`. */
function onlyRouteTo(routes: readonly Route[], server: string): Route | undefined {
  const [route, second] = routes.filter(({ upstream }) => upstream === server);
  return second === undefined ? route : undefined;
}

/** The version of a list for its subscribers, which do not retain the list itself. */
export interface ListVersion {
  readonly kind: ListKind;
  readonly revision: string;
}

/** Equal source lists share one merged list and its serialized text. */
export class Snapshot {
  readonly #byExposed = new Map<string, Route | undefined>();
  #byOwn: Map<string, readonly Route[]> | undefined;
  #revision: string | undefined;
  #version: ListVersion | undefined;
  readonly #pages = new Map<number, Payload>();

  /** @param reach see `ListTransform`: of two lists with the same entries, those with equal texts have equal revisions */
  constructor(
    readonly kind: ListKind,
    readonly entries: readonly ExposedItem[],
    private readonly reach?: string,
  ) {
    for (const { route } of entries) addRoute(this.#byExposed, route.exposed, route);
  }

  get length(): number {
    return this.entries.length;
  }

  /** Whether it has several pages, whose cursors need the revision. */
  get isLong(): boolean {
    return this.length > PAGE_SIZE;
  }

  /** Whether the revision is made already. */
  get hasRevision(): boolean {
    return this.#revision !== undefined;
  }

  has(exposed: string): boolean {
    return this.#byExposed.has(exposed);
  }

  /** The owner of an exposed name; undefined when no server has it, or (web addresses) several have. */
  find(exposed: string): Route | undefined {
    return this.#byExposed.get(exposed);
  }

  /** The owner of a server's own name, if exactly one server has it. */
  findOwn(own: string): Route | undefined {
    const [route, second] = this.ownersOf(own);
    return second === undefined ? route : undefined;
  }

  /** Every server with this own name. */
  ownersOf(own: string): readonly Route[] {
    if (this.#byOwn === undefined) {
      this.#byOwn = new Map();
      for (const { route } of this.entries) {
        this.#byOwn.set(route.target, [...(this.#byOwn.get(route.target) ?? []), route]);
      }
    }
    return this.#byOwn.get(own) ?? [];
  }

  indexOf(exposed: string): number {
    return this.entries.findIndex(({ route }) => route.exposed === exposed);
  }

  /** Equal revisions mean that a client would see no difference; the same in every process. */
  get revision(): string {
    const steps = this.prepare();
    while (this.#revision === undefined) steps.next();
    return this.#revision;
  }

  /** Makes the revision of a long list before it is needed, one page in each step. */
  *prepare(): Steps<void> {
    if (this.#revision !== undefined) return;
    const hash = createHash("sha256");
    for (let at = 0; at === 0 || at < this.length; at += PAGE_SIZE) {
      if (at > 0) yield;
      hash.update(this.#itemsText(at));
    }
    if (this.reach !== undefined) hash.update(this.reach);
    this.#revision = hash.digest("base64url").slice(0, 12);
  }

  /** The same object each time. */
  get version(): ListVersion {
    this.#version ??= { kind: this.kind, revision: this.revision };
    return this.#version;
  }

  /** The result with the page of `cursor`, or the first one; its text is created once. */
  page(cursor: Cursor | undefined): Payload {
    const start = cursor === undefined ? 0 : pageStart(this, cursor);
    // Only pages at regular offsets are cached: a client could request any other.
    const regular = start % PAGE_SIZE === 0;
    const made = (regular ? this.#pages.get(start) : undefined) ?? this.#makePage(start);
    if (regular) this.#pages.set(start, made);
    return made;
  }

  #makePage(start: number): Payload {
    const end = start + PAGE_SIZE;
    const last = this.entries[end - 1];
    const next =
      end < this.length && last !== undefined
        ? writeCursor({ kind: this.kind, revision: this.revision, offset: end, after: last.route.exposed })
        : undefined;
    const tail = next === undefined ? "" : `,"nextCursor":${writeJson(next)}`;
    const text = `{${writeJson(this.kind)}:${this.#itemsText(start)}${tail}}`;
    return Payload.ofText(Buffer.from(text, "utf8"));
  }

  #itemsText(start: number): string {
    return writeJson(this.entries.slice(start, start + PAGE_SIZE).map(({ item }) => item));
  }
}

/** A name with two owners is ambiguous. */
function addRoute(routes: Map<string, Route | undefined>, name: string, route: Route): void {
  routes.set(name, routes.has(name) ? undefined : route);
}
