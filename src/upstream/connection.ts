/** One open conversation with a server, era already settled; a lease holds it, both eras implement it. */

import type { Notice } from "../core/call.js";
import type { Client } from "../core/client.js";
import type { GatewayError } from "../core/errors.js";
import type { Handler } from "../core/handler.js";
import type { ListKind } from "../core/lists.js";
import type { StopSignal } from "../core/stop.js";
import type { TaskListener, TaskSubscription } from "../core/tasks.js";
import type { ServerFacts, ServerList } from "../core/upstream.js";
import type { RpcError } from "../wire/envelope.js";

export interface Connection {
  /** The revision that is spoken, for people to see. */
  readonly revision: string;
  /** False where the server forgets between two requests what it was told. */
  readonly keepsSession?: boolean;
  readonly facts: ServerFacts;
  readonly call: Handler;
  /**
   * Walks all pages (cursor loops cut). A list the server does not offer is empty. Where capabilities go with
   * each request, those of `client` do.
   */
  list(kind: ListKind, signal: StopSignal, client?: Client): Promise<ServerList>;
  /** Subscribes to one resource, which must not be subscribed to already: the caller counts references. */
  subscribe(uri: string): void;
  /** Ends the subscription to one resource. */
  unsubscribe(uri: string): void;
  /** The error with which the server refused to tell of a resource that is followed; waits for its word. */
  subscriptionError(uri: string): Promise<RpcError | undefined>;
  /** See `Upstream`; absent where the revision knows no way to ask. */
  followTasks?(
    ids: readonly string[],
    client: Client,
    listener: TaskListener<string>,
  ): Promise<TaskSubscription>;
  /** Passes a client's own notification on; absent where the revision knows none. */
  notify?(notice: Notice): void;
  /** Asks for a sign of life. @throws GatewayError when there is none before `signal` is aborted. */
  checkHealth(signal: StopSignal): Promise<void>;
  /** Since when (`performance.now()`) nothing has been heard; undefined while something is under way. */
  readonly idleSince: number | undefined;
  /** Resolves when it can carry no more calls, with the reason; never rejects. */
  readonly closed: Promise<GatewayError>;
  close(): Promise<void>;
}

export interface ConnectionObserver {
  listChanged(kind: ListKind): void;
  resourceUpdated(uri: string): void;
}
