/** One server behind the gateway, whichever revision and transport it speaks. */

import type { RpcError } from "../wire/envelope.js";
import type { JsonObject } from "../wire/json.js";
import type { Freshness, Notice } from "./call.js";
import type { Client } from "./client.js";
import type { GatewayError } from "./errors.js";
import type { Handler } from "./handler.js";
import type { MalformedEntry } from "./list-entries.js";
import type { ListKind } from "./lists.js";
import type { StopSignal } from "./stop.js";
import type { TaskListener, TaskSubscription } from "./tasks.js";

/** What a server says of itself when it is first met. */
export interface ServerFacts {
  readonly capabilities: JsonObject;
  readonly serverInfo: JsonObject;
  readonly instructions?: string;
  /** Where it is a gateway like this one: which, among all of them. */
  readonly instance?: string;
}

export interface ServerList {
  readonly items: readonly JsonObject[];
  readonly freshness: Freshness;
  /** True where the server says itself how long the list may be kept. */
  readonly hasTtl?: boolean;
  /** Entries that hosts cannot read; they are not among the items. Absent where there is none. */
  readonly malformed?: readonly MalformedEntry[];
}

/**
 * Whose list it is. Servers may list differently for clients of different capabilities, so lists are kept per
 * audience: `class` is shared by all clients of equal capabilities, `key` is the connection's own.
 */
export interface ListScope {
  readonly key: string;
  readonly capabilityClass: string;
  /** True where its clients hear of resources over their own connection, beside one that is shared by all others. */
  readonly hasOwnUpdates?: boolean;
}

/** The audience of clients that cannot be asked anything; they share one connection. */
export const SHARED_SCOPE: ListScope = { key: "shared", capabilityClass: "shared" };

/** Why a connection had to be opened again; a label of the metric `cardea_upstream_restarts_total`. */
export type RestartReason = "lost" | "failed_start" | "unresponsive";

export type UpstreamState = "starting" | "ready" | "backoff" | "stopped";

export interface Upstream {
  readonly name: string;
  /** Runs a call whose `params` already carry the server's own names. */
  readonly call: Handler;
  readonly state: UpstreamState;
  /** The last reason for not being ready, in a plain sentence. */
  readonly lastError: string | undefined;
  /** Facts of the shared connection; undefined until it was first met. */
  readonly facts: ServerFacts | undefined;
  /** What it says of itself to clients that are served as `client` is. Absent where that is `facts` for everybody. */
  factsFor?(client: Client): ServerFacts | undefined;
  /** The revisions in which it is spoken to at this moment, for people to see. */
  readonly revisions?: readonly string[];
  /** How this server shares its connections: whose lists and connection `client` gets. */
  listScope(client: Client): ListScope;
  /**
   * Walks all pages of one list, over the connection of `client` (opened when it is not there yet), or over
   * the shared one. A list the server does not offer is empty.
   * @throws GatewayError when the server cannot be reached or answers with an error.
   */
  list(kind: ListKind, client: Client | undefined, signal: StopSignal): Promise<ServerList>;
  /** Asks to hear about one resource (the server's own URI). Call the returned function to stop. */
  subscribe(uri: string, client: Client | undefined): () => void;
  /**
   * The error with which the server refused to tell of a resource that `client` follows; undefined where it did
   * not refuse, or is not there to be asked. Waits for its word. Absent where every resource can be followed.
   */
  subscriptionError?(uri: string, client: Client): Promise<RpcError | undefined>;
  /**
   * Asks to hear when one of these tasks (the server's own ids) changes. Absent, or of no ids, where the server
   * tells of none. Never rejects.
   */
  followTasks?(
    ids: readonly string[],
    client: Client,
    listener: TaskListener<string>,
  ): Promise<TaskSubscription>;
  /**
   * Somebody looks for what this server may have while it is away: it is tried now, where a call would hurry it too.
   * Resolves when that has come to something; never rejects. Absent where nothing can be hurried.
   */
  connectNow?(): Promise<void>;
  watch(observer: UpstreamObserver): () => void;
  /** Passes on what a client tells outside its calls, such as `notifications/roots/list_changed`. */
  forwardNotification?(client: Client, notice: Notice): void;
  /** Ends what is kept for one session alone. */
  releaseClient(affinity: string): void;
  close(): Promise<void>;
}

export interface UpstreamObserver {
  /** A connection of this audience is open and its facts are known. */
  ready(listScope: ListScope): void;
  listChanged(kind: ListKind, listScope: ListScope): void;
  /** `listScope` is whose connection said so; only its clients are told. Without it all are who are not apart. */
  resourceUpdated(uri: string, listScope?: ListScope): void;
  /** The shared connection is gone; the supervisor is about to try again. */
  unavailable(cause: GatewayError): void;
}
