/** What do the edges see of the gateway, and which changes is a client notified of between its calls? */

import type { IncomingHttpHeaders } from "node:http";
import type { RpcError } from "../wire/envelope.js";
import type { JsonObject } from "../wire/json.js";
import type { Handler, Notice } from "./call.js";
import type { Client, Principal } from "./client.js";
import type { ListKind } from "./lists.js";
import type { TaskListener, TaskSubscription } from "./tasks.js";

/** What `initialize` and `server/discover` answer to one client. */
export interface ServerDescription {
  readonly serverInfo: JsonObject;
  readonly capabilities: JsonObject;
  readonly instructions?: string;
  /** A random id of this gateway, by which gateways detect loops. */
  readonly instance?: string;
}

/** The gateway, as its edges call it. */
export interface GatewayApi {
  /** Runs a call through the pipeline to its server. Never rejects: failures are replies. */
  readonly handle: Handler;
  nextCallId(): number;
  readonly changes: ChangeFeed;
  /** The merged capabilities and instructions of the servers that `client` sees. Waits 0.75 s at most, for servers that start. */
  describe(client: Client): Promise<ServerDescription>;
  /**
   * At the path of a single server: waits up to 5 s until it is connected.
   * @throws GatewayError with the reason when it was never connected
   */
  requireServer?(client: Client): Promise<void>;
  /** The list entry of a tool by the name `client` sees, for checking `Mcp-Param-*` headers. */
  tool(client: Client, name: string): JsonObject | undefined;
  /**
   * Reports each change of these tasks as `tasks/get` would answer it, until it is stopped. Tasks of other clients, and
   * of servers that send no task notifications, are left out.
   */
  followTasks?(
    client: Client,
    handles: readonly string[],
    listener: TaskListener<JsonObject>,
  ): Promise<TaskSubscription>;
  /** Whether `/mcp/NAME` exists for this principal; false for a server that rules hide. */
  hasEndpoint(name: string, principal: Principal): boolean;
  /**
   * The principal of a request over HTTP with the headers of it that servers get. Absent: servers get none.
   * @throws GatewayError `bad_request` for a value that cannot be carried
   */
  withHeaders?(principal: Principal, headers: IncomingHttpHeaders): Principal;
  /** The names of those headers in lower case. Absent: there are none. */
  headerNames?(): readonly string[];
  /** A notification of the client that belongs to no call, such as `notifications/roots/list_changed`. */
  forwardNotification?(client: Client, notice: Notice): void;
  /** A client's session has ended: drops all state of its affinity. */
  releaseClient(affinity: string): void;
}

/** Whether the gateway can serve calls (`/readyz`). */
export interface Readiness {
  readonly ready: boolean;
  /** Why it is not ready, and what is degraded although it is. */
  readonly reasons: readonly string[];
  /** Servers in their first start, whose tools are not in the lists yet; absent if there are none. */
  readonly starting?: readonly string[];
}

/** The reason of a gateway that drains. */
export const DRAINING_REASON = "the gateway is stopping";

/** The gateway's own name, as hosts see it. */
export const SERVER_NAME = "cardea";

/** A change in a client's own view of the gateway. */
export type Change =
  | { readonly kind: "list"; readonly list: ListKind }
  | { readonly kind: "resource"; readonly uri: string }
  /** A subscription that was accepted before its server was connected, and that the server then refused. */
  | { readonly kind: "unfollowed"; readonly uri: string };

/** From when updates are delivered: `now`, or `later`, once a server that was never connected is. */
export type FollowTime = "now" | "later";

/** What one subscriber is notified of; URIs are the exposed ones. */
export interface ChangeFilter {
  readonly lists: ReadonlySet<ListKind>;
  readonly resources: ReadonlySet<string>;
  /** True: a resource that cannot be subscribed to now is retried later. Default: `subscribe` throws. */
  readonly allowPartial?: boolean;
}

/** Subscriptions of clients to list changes and resource updates. */
export interface ChangeFeed {
  /**
   * Calls `onChange` with each change of `client`'s own view that `interest` covers, until the returned function
   * is called. A list change is reported only when the client's merged, filtered list differs.
   *
   * @throws GatewayError `overloaded` if a server cannot take another connection; then nothing is subscribed.
   */
  subscribe(client: Client, interest: ChangeFilter, onChange: (change: Change) => void): () => void;
  /**
   * The `uris` whose updates can be delivered: a server owns them and supports subscriptions. Waits up to 10 s for
   * servers that are starting and may own them, as a read does. Never rejects.
   */
  followable(client: Client, uris: readonly string[]): Promise<ReadonlyMap<string, FollowTime>>;
  /**
   * The `uris` subscribed to by `client` whose servers refused the subscription, each with the server's error. Waits
   * briefly for the servers. Absent if no server refuses.
   */
  refusals?(client: Client, uris: readonly string[]): Promise<ReadonlyMap<string, RpcError>>;
}
