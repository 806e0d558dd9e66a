/** What can the gateway do with a server, whichever revision and transport it speaks? */

import type { RpcError } from "../wire/envelope.js";
import type { JsonObject } from "../wire/json.js";
import type { Freshness, Handler, Notice } from "./call.js";
import type { Client } from "./client.js";
import type { GatewayError } from "./errors.js";
import type { MalformedEntry } from "./list-entries.js";
import type { ListKind } from "./lists.js";
import type { StopSignal } from "./stop.js";
import type { TaskListener, TaskSubscription } from "./tasks.js";

/** What a server declares in the handshake. */
export interface ServerFacts {
  readonly capabilities: JsonObject;
  readonly serverInfo: JsonObject;
  readonly instructions?: string;
  /** The instance id, where the server is a Cardea gateway too. */
  readonly instance?: string;
}

/** One list of a server, all pages together. */
export interface ServerList {
  readonly items: readonly JsonObject[];
  readonly freshness: Freshness;
  /** True if `freshness` comes from the server. */
  readonly hasTtl?: boolean;
  /** Malformed entries, which are not among `items`; absent if there are none. */
  readonly malformed?: readonly MalformedEntry[];
}

/**
 * The clients that a list holds for. Servers may list differently for clients of different capabilities, so lists are
 * cached per scope: `capabilityClass` is shared by all clients of equal capabilities, `key` identifies the connection.
 */
export interface ListScope {
  readonly key: string;
  readonly capabilityClass: string;
  /** True if resource updates of these clients come over their own connection, not over the shared one. */
  readonly hasOwnUpdates?: boolean;
  /** True if it means nothing to another process: its lists are not kept. */
  readonly isTransient?: true;
}

/** The scope of clients whose capabilities are not advertised to the server; they share one connection. */
export const SHARED_SCOPE: ListScope = { key: "shared", capabilityClass: "shared" };

/** Why a connection was reopened; a label of the metric `cardea_upstream_restarts_total`. */
export type RestartReason = "lost" | "failed_start" | "unresponsive" | "operator";

/** The states of servers, in ascending severity. */
export const UPSTREAM_STATES = [
  "idle",
  "ready",
  "starting",
  "needs_sign_in",
  "backoff",
  "misconfigured",
  "stopped",
] as const;

/**
 * State of the shared connection; `idle`: it was ended because nothing uses it, or not started yet, and the next use opens it;
 * `needs_sign_in`: the server wants credentials that are not there, and no principal has a connection of its own;
 * `misconfigured`: its entry in the config is wrong, so it is not started.
 */
export type UpstreamState = (typeof UPSTREAM_STATES)[number];

/**
 * The state for status pages and metrics: a server that has calls, or whose connections of single clients are open, is not idle.
 */
export const stateInUse = (
  { state, servesClients }: Pick<Upstream, "state" | "servesClients">,
  openCalls = 0,
): UpstreamState => (state === "idle" && (servesClients === true || openCalls > 0) ? "ready" : state);

/** The subscriptions of clients to resources of one server. URIs are its own. */
export interface ResourceSubscriptions {
  /** Subscribes to updates of a resource. The returned function unsubscribes. @throws GatewayError `overloaded` */
  subscribe(uri: string, client: Client | undefined): () => void;
  /**
   * The server's error for the subscription of `client` to a resource; undefined if the server accepted it or is not
   * connected. Waits for the server's response. Absent if every resource can be subscribed to.
   */
  subscriptionError?(uri: string, client: Client): Promise<RpcError | undefined>;
}

/** One server: calls, lists, subscriptions, tasks, events. */
export interface Upstream {
  readonly name: string;
  /** Runs a call whose `params` already carry the server's own names. */
  readonly call: Handler;
  readonly state: UpstreamState;
  /** Whether a connection that is kept for single clients is open. Absent: there are none. */
  readonly servesClients?: boolean;
  /** Whether it is started when something needs it. Absent: it is kept running. */
  readonly startsOnDemand?: boolean;
  /** Whether a list for `client` (undefined: the shared one) needs no new connection. Absent: while it is ready. */
  isOpenFor?(client: Client | undefined): boolean;
  /** Why it is not ready, as a sentence. */
  readonly lastError: string | undefined;
  /** When its next attempt is due, in ms since 1970. Absent or undefined: none is scheduled. */
  readonly nextTryAt?: number | undefined;
  /** Facts of the shared connection; undefined until its first handshake. */
  readonly facts: ServerFacts | undefined;
  /** The facts for the list scope of `client`. Absent if `facts` holds for all clients. */
  factsFor?(client: Client): ServerFacts | undefined;
  /** The protocol revisions of its open connections, for status pages. */
  readonly revisions?: readonly string[];
  /**
   * A text that differs for clients whose hosts send the server other headers; undefined where they send none. Such a client
   * has a connection of its own, which may be open while the shared one cannot be. Absent: the server gets no such headers.
   */
  headersOf?(client: Client): string | undefined;
  /** Whether the server wants credentials of each principal, so that nothing of one may reach another. Absent: no. */
  readonly separatesPrincipals?: boolean;
  /** The list scope, and with it the connection, of `client`. */
  listScope(client: Client): ListScope;
  /**
   * Fetches all pages of one list, over the connection of `client` (which is opened if needed) or the shared one. A
   * list without a server capability is empty.
   * @param before the entries that were listed before. One that is listed again, with the same text, is the same object, so
   * that what is kept of it holds still.
   * @throws GatewayError if the server cannot be reached or answers with an error.
   */
  list(
    kind: ListKind,
    client: Client | undefined,
    signal: StopSignal,
    before?: readonly JsonObject[],
  ): Promise<ServerList>;
  readonly resources: ResourceSubscriptions;
  /**
   * Subscribes to changes of these tasks (the server's own ids). Absent, or with no ids, where the server sends no task
   * notifications. Never rejects.
   */
  followTasks?(
    ids: readonly string[],
    client: Client,
    listener: TaskListener<string>,
  ): Promise<TaskSubscription>;
  /**
   * Ends its connections, with the calls on them, and opens the shared one again; those of single clients are opened by
   * their next use. Resolves when that has succeeded or failed; never rejects. Absent if nothing can be restarted.
   */
  restart?(): Promise<void>;
  /**
   * Reconnects now instead of after the backoff, as a call would. Resolves when the attempt has succeeded or failed;
   * never rejects. Absent if there is no backoff to skip.
   */
  connectNow?(): Promise<void>;
  watch(observer: UpstreamObserver): () => void;
  /** Forwards a notification that belongs to no call, such as `notifications/roots/list_changed`. */
  forwardNotification?(client: Client, notice: Notice): void;
  /** Drops the state and connections of one session. */
  releaseClient(affinity: string): void;
  close(): Promise<void>;
}

/** Receives the events of a server that it has a member for. */
export interface UpstreamObserver {
  /** A connection of this scope is open and its facts are known. */
  ready?(listScope: ListScope): void;
  listChanged?(kind: ListKind, listScope: ListScope): void;
  /** `listScope`: the connection it came from; only its clients are notified. Without it, all of the shared scope. */
  resourceUpdated?(uri: string, listScope?: ListScope): void;
  /** The credentials of this principal at the server have come or gone. */
  credentialsChanged?(principal: string): void;
  /** The shared connection is lost; the supervisor reconnects, unless the server starts on demand. */
  unavailable?(cause: GatewayError): void;
  /** The shared connection was ended because nothing uses it; the next use opens another one. */
  rested?(): void;
}

/** A success of an HTTP API that does not fit the output schema of its tool, and went out without structured content. */
export interface AnswerMisfit {
  /** The server's own name of the tool. */
  readonly tool: string;
  /** Where it does not fit, such as `items[0].id must be string or null, not number`; without values. */
  readonly reason: string;
}
