/**
 * The lists of all servers, as each client sees them: kept current, announced on change, never fetched during a call.
 */

import type { Freshness, Route } from "../core/call.js";
import type { Client, Principal } from "../core/client.js";
import type { ChangeFeed, ServerDescription } from "../core/gateway-api.js";
import type { ListAdmission } from "../core/list-admission.js";
import type { AwaitedTools, ListTransform } from "../core/list-transform.js";
import type { ListKind } from "../core/lists.js";
import type { Logger } from "../core/logger.js";
import type { Target } from "../core/methods.js";
import type { ListStore } from "../core/persisted-lists.js";
import type { StopSignal } from "../core/stop.js";
import type { ToolForms } from "../core/tool-forms.js";
import type { Upstream, UpstreamState } from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import type { CatalogProfile } from "./endpoints.js";
import { MergedCatalog } from "./merged-catalog.js";
import type { Naming } from "./naming.js";
import type { ListHints, RefreshTimes, ServerListsStatus } from "./server-lists-options.js";
import type { CatalogServer } from "./server-namespace.js";
import type { CatalogView, Snapshot, VisibilityCheck } from "./view.js";

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
  /** For the beginning of the names of a server whose lists are not known: whether one of them may be visible. Default: as `isVisible`. */
  readonly mayShow?: VisibilityCheck;
  /** A resource for which it returns false cannot be followed. Default: every visible resource can. */
  readonly mayFollow?: VisibilityCheck;
  readonly logger?: Logger;
  /** Takes secrets out of what hosts read of servers' errors. Default: nothing is taken out. */
  readonly redact?: (text: string) => string;
  /** The catalog of an earlier config: its lists of unchanged upstreams are inherited. It is not closed. */
  readonly before?: Catalog;
  /** Called once per real change of a server's list, whatever the number of list scopes that see it. */
  readonly onListChanged?: (server: string, list: ListKind) => void;
  /** Caches the lists of a server for the next run. Default: no cache. */
  readonly kept?: (server: string) => ListStore | undefined;
  /** What features admit of the lists of a server. Default: all of them. */
  readonly admission?: (server: string) => ListAdmission | undefined;
  /** List changes reported by other replicas. Default: none. */
  readonly listHints?: (server: string) => ListHints | undefined;
}

/** What the status page shows of one server. */
export interface ServerStatus extends ServerListsStatus {
  readonly name: string;
  readonly state: UpstreamState;
  readonly lastError: string | undefined;
  readonly serverInfo: JsonObject | undefined;
}

/** The merged lists of all servers of one config. */
export interface Catalog extends AwaitedTools {
  /** The same object from config to config; its subscribers see the catalog that is live, which is the first one at once. */
  readonly changes: ChangeFeed;
  /** Takes the place of the catalog before, and notifies subscribers of what differs. */
  goLive(): void;
  /** The current view of `client`; never waits. */
  view(client: Client): CatalogView;
  /** The view of `client` without hiding rules. */
  unfilteredView(client: Client): CatalogView;
  /** The route of a target that a feature holds back, by the name that `client` uses; undefined where it is hidden from it. */
  heldRoute(client: Client, kind: ListKind, name: string): Route | undefined;
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
  /** What a server lists under its own names, before filters; undefined while that is unknown. */
  ownEntries(server: string): Readonly<Record<ListKind, readonly JsonObject[]>> | undefined;
  /** The known lists of one kind of a server, before filters, of each class of clients; the shared one first. */
  ownLists(server: string, kind: ListKind): readonly (readonly JsonObject[])[];
  /** Resolves when the first start of a server is over and it has listed for `client`, or has failed. Never rejects. */
  whenLoaded(server: string, client: Client): Promise<void>;
  /**
   * Loads all lists of a server for `client`, however long it takes to connect; again where the last attempt has failed. Resolves
   * to whether they are known. Never rejects.
   */
  loadWhole(server: string, client: Client): Promise<boolean>;
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

/** Starts to load lists in the background, until `close`. */
export const createCatalog = (options: CatalogOptions): Catalog => new MergedCatalog(options);
